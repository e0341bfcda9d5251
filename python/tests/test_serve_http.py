"""`mangrove serve` over HTTP."""

import json
import re
import socket
import uuid

import pytest

from served import air, basic, client, fetch, get, guarded, own, post  # noqa: F401


def test_http_answers_one_request(air):
    code, body = post(air, {"gremlin": "g.V().has('elev', gt(low)).count()", "bindings": {"low": 500}})
    assert code == 200
    answer = json.loads(body)
    assert answer["status"]["code"] == 200
    assert answer["result"]["data"] == {"@type": "g:List", "@value": [{"@type": "g:Int64", "@value": 2}]}
    code, body = post(air, {"gremlin": "g.V('AUS').values('city')"}, Accept="application/vnd.gremlin-v2.0+json")
    assert json.loads(body)["result"]["data"] == ["Austin"]
    code, body = get(air, gremlin="g.V(x).values('elev')", **{"bindings.x": "AUS"})
    assert code == 200 and json.loads(body)["result"]["data"]["@value"] == [{"@type": "g:Int64", "@value": 542}]
    code, body = post(air, {"gremlin": "g.V('nowhere')", "evaluationTimeout": None}, **{"Content-Type": "application/x-www-form-urlencoded"})
    assert code == 200 and json.loads(body)["result"]["data"] == {"@type": "g:List", "@value": []}
    code, body = post(air, {"gremlin": "g.V().nonsense()"})
    assert code == 500 and json.loads(body)["status"]["code"] == 597
    assert post(air, b"{")[0] == 400
    assert post(air, {"gremlin": "g.V()"}, Accept="image/png")[0] == 406
    assert get(air)[0] == 400


def test_pages_of_other_sites_are_refused(own):
    address, _ = own
    write = {"gremlin": "g.addV('airport')"}
    assert post(address, write, Origin="http://evil.example")[0] == 403
    assert post(address, write, Host="evil.example")[0] == 403
    assert post(address, write, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert get(address, gremlin="g.addV('airport')")[0] == 403
    assert post(address, write, Origin=f"http://{address}")[0] == 200
    with client(address) as c:
        assert c.submit("g.V().hasLabel('airport').count()").all().result() == [5]


def test_http_asks_for_a_name_and_a_password(guarded):
    count = {"gremlin": "g.V().count()"}
    assert post(guarded, count)[0] == 401
    assert post(guarded, count, **basic("ada", "wrong password"))[0] == 401
    assert post(guarded, count, **basic("ada", "secret of ada"))[0] == 200
    assert post(guarded, {"gremlin": "g.addV('x')"}, **basic("eve", "secret of eve"))[0] == 403
    assert get(guarded, gremlin="g.V()")[0] == 401
    # Users are known by their passwords, whatever the name of the server. Pages of other sites are not.
    assert post(guarded, count, Host="graph.example", **basic("ada", "secret of ada"))[0] == 200
    assert post(guarded, count, Origin="http://evil.example", **basic("ada", "secret of ada"))[0] == 403
    assert fetch(f"http://{guarded}/healthz") == (200, b"ok\n")


def values(body):
    return json.loads(body)["result"]["data"]["@value"]


def test_drivers_may_put_the_media_type_before_a_request(air):
    kind = b"application/json"
    code, body = post(air, bytes([len(kind)]) + kind + b'{"gremlin": "g.inject(1)"}')
    assert code == 200 and values(body) == [{"@type": "g:Int32", "@value": 1}]


def test_forms_without_types_are_not_offered(air):
    accept = "application/vnd.gremlin-v3.0+json;types=false"
    assert post(air, {"gremlin": "g.V()"}, Accept=accept)[0] == 406
    assert post(air, {"gremlin": "g.V()"}, Accept=accept + ", */*")[0] == 200


def test_elements_as_keys_of_graphson_2_are_their_ids(air):
    query = {"gremlin": "g.V('AUS').group().by().by(count())"}
    code, body = post(air, query, Accept="application/vnd.gremlin-v2.0+json")
    assert code == 200 and json.loads(body)["result"]["data"] == [{"AUS": {"@type": "g:Int64", "@value": 1}}]
    query = {"gremlin": "g.V('AUS').properties('city').group().by().by(count())"}
    _, body = post(air, query, Accept="application/vnd.gremlin-v2.0+json")
    assert list(json.loads(body)["result"]["data"][0]) == ["AUS/city/0"]


def test_constants_may_be_parameters(own):
    address, _ = own
    key = {"@type": "g:T", "@value": "label"}
    bindings = {"x": {"@type": "g:Map", "@value": [key, "thing", "name", "one"]}}
    assert post(address, {"gremlin": "g.mergeV(x)", "bindings": bindings})[0] == 200
    assert values(post(address, {"gremlin": "g.V().hasLabel('thing').values('name')"})[1]) == ["one"]
    code, body = post(address, {"gremlin": "g.V().order().by(x)", "bindings": {"x": {"@type": "g:Order", "@value": "desc"}}})
    assert code == 400 and "write it into the query" in json.loads(body)["status"]["message"]


@pytest.mark.parametrize("number", ["123456789012345678901234567890", "0.12345678901234567890123", "-99999999999999999999"])
def test_numbers_that_json_would_change_are_refused(air, number):
    code, body = post(air, b'{"gremlin": "g.inject(x)", "bindings": {"x": %s}}' % number.encode())
    assert code == 400 and "all digits" in json.loads(body)["status"]["message"]
    # As text, and within 64 bits or the digits of a double, they come whole.
    typed = {"@type": "gx:BigDecimal", "@value": number}
    assert post(air, {"gremlin": "g.inject(x)", "bindings": {"x": typed}})[0] == 200


@pytest.mark.parametrize("number", ["18446744073709551615", "-9223372036854775808", "0.1234567890123456", "1" + "0" * 300])
def test_numbers_that_json_keeps_are_taken(air, number):
    assert post(air, b'{"gremlin": "g.inject(x)", "bindings": {"x": %s}}' % number.encode())[0] == 200


def test_words_in_an_address_are_no_numbers(air):
    for text, kind in [("nan", None), ("inf", None), ("1e3", "g:Double"), ("-2", "g:Int32")]:
        _, body = get(air, gremlin="g.inject(x)", **{"bindings.x": text})
        value = values(body)[0]
        assert value == text if kind is None else value["@type"] == kind


def test_a_failure_that_the_query_asks_for_says_so(air):
    code, body = post(air, {"gremlin": "g.inject(1).fail('no way')"})
    said = json.loads(body)["status"]
    attributes = dict(zip(*[iter(said["attributes"]["@value"])] * 2, strict=True))
    assert code == 500 and said["code"] == 595 and "no way" in attributes["failStepMessage"]


def test_a_response_that_would_fill_the_memory_is_refused(air):
    query = {"gremlin": "g.inject(1..100).unfold().constant(x)", "bindings": {"x": "x" * 1_000_000}}
    code, body = post(air, query)
    assert code == 500 and "WebSocket" in json.loads(body)["status"]["message"]
    with client(air) as c:
        assert len(c.submit(query["gremlin"], query["bindings"]).all().result()) == 100


def test_requests_that_cannot_be_read_keep_their_id(air):
    known = str(uuid.uuid4())
    _, body = post(air, {"requestId": known, "op": "eval", "args": {"gremlin": {"@type": "g:Unknown", "@value": 1}}})
    assert json.loads(body)["requestId"] == known


def test_a_client_that_goes_ends_its_transaction(own):
    address, _ = own

    def ask(gremlin, **more):
        status, body = post(address, {"gremlin": gremlin, **more})
        return status, json.loads(body)

    def begin():
        status, answer = ask("g.tx().begin()")
        assert status == 200
        return re.search(r"[0-9a-f-]{36}", json.dumps(answer["result"])).group()

    name = begin()
    assert ask("g.addV('late')", transactionId=name)[0] == 200
    host, port = address.rsplit(":", 1)
    body = json.dumps({"gremlin": "g.V().repeat(both()).times(40).path().count()", "transactionId": name}).encode()
    with socket.create_connection((host, int(port))) as gone:
        gone.sendall(b"POST /gremlin HTTP/1.1\r\nHost: %b\r\nContent-Length: %d\r\n\r\n" % (address.encode(), len(body)) + body)
        while b"mangrove_queries_reading 1\n" not in fetch(f"http://{address}/metrics")[1]:
            pass
    # It waited for nothing, so others may write at once.
    assert ask("g.addV('other')")[0] == 200
    status, answer = ask("g.tx().commit()", transactionId=name)
    assert status == 499 or status == 400, status
    assert "no such transaction" in json.dumps(answer)
    assert ask("g.V().hasLabel('late').count()")[1]["result"]["data"]["@value"][0]["@value"] == 0
    # One whose client stays goes on.
    name = begin()
    assert ask("g.addV('kept')", transactionId=name)[0] == 200
    assert ask("g.tx().commit()", transactionId=name)[0] == 200
    assert ask("g.V().hasLabel('kept').count()")[1]["result"]["data"]["@value"][0]["@value"] == 1
