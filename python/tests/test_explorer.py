"""The explorer, the page of `mangrove serve`, in a real browser."""

import re
import xml.etree.ElementTree as ElementTree

import mangrovedb as mg
import pytest

from browser import browser, drawn, expect, new_page, rows, run, tab, visiting, visiting_again, write  # noqa: F401
from served import air, guarded, own, serving  # noqa: F401

SECRET = "secret of {}"
# The browser reports each answer that is no success, even where the page expects it.
REFUSED = ("the server responded with a status of 4",)
BROKEN = ("net::ERR_",)
CONTROLS = set("button checkbox ColorWell combobox complementary link radio region searchbox tab textbox".split())


@pytest.fixture(scope="module")
def kept(browser):  # noqa: F811
    """A page for all tests that need no other one."""
    page = new_page(browser)
    yield page
    page.context.close()


@pytest.fixture
def page(kept, air):  # noqa: F811
    with visiting_again(kept, air) as opened:
        yield opened


@pytest.fixture
def owned(browser, own):  # noqa: F811
    """A page whose database a test may change."""
    with visiting(browser, own[0]) as opened:
        yield opened


def note(page):
    return page.locator(".graph-note")


def find(page, text):
    """Selects a vertex of the graph by the search, which brings it to the middle."""
    page.get_by_label("Find a vertex").fill(text)
    page.get_by_label("Find a vertex").press("Enter")
    expect(page.get_by_role("region", name="Selected").get_by_role("heading", name=text)).to_be_visible()
    drawn(page)


def saved(page, button):
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    return download.value


def test_the_page_shows_itself_and_what_one_may_do(page):
    expect(page.get_by_role("heading", name="Mangrove")).to_be_visible()
    expect(page.get_by_role("textbox", name="Query")).to_be_visible()
    expect(page.locator(".badge", has_text="admin")).to_be_visible()
    assert page.evaluate("performance.getEntriesByName('first-contentful-paint').length") == 1


def test_a_query_gives_a_table(page):
    run(page, "g.V().hasLabel('airport').order().by('code').valueMap('code', 'elev').by(unfold())")
    expect(page.get_by_text("4 results")).to_be_visible()
    expect(page.get_by_role("columnheader", name="code")).to_be_visible()
    assert [row[1:] for row in rows(page)] == [["AUS", "542"], ["DFW", "607"], ["LHR", "83"], ["WLG", "41"]]
    assert saved(page, "Save as CSV").path().read_text() == "code,elev\nAUS,542\nDFW,607\nLHR,83\nWLG,41\n"


def test_ctrl_enter_runs_a_query_with_parameters(page):
    page.get_by_role("button", name="Parameters").click()
    page.get_by_role("textbox", name="Parameters").fill('{"x": "AUS"}')
    write(page, "g.V(x).out('route').values('city').order()")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("2 results")).to_be_visible()
    assert [row[1] for row in rows(page)] == ["Dallas", "London"]


def test_parameters_that_are_no_json_are_refused(page):
    page.get_by_role("button", name="Parameters").click()
    page.get_by_role("textbox", name="Parameters").fill("x = 1")
    run(page, "g.V(x)")
    expect(page.get_by_role("alert")).to_contain_text("The parameters are no JSON")


def test_the_editor_offers_steps_members_labels_and_properties(page):
    def offered(typed):
        write(page, "")
        page.keyboard.type(typed)
        return page.get_by_role("listbox", name="Completions")

    expect(offered("g.V().outE")).to_contain_text("outE")
    expect(offered("g.V().order().by('elev', Order.de")).to_contain_text("desc")
    expect(offered("g.V().hasLabel('airp")).to_contain_text("airport4 vertices")
    expect(offered("g.V().values('el")).to_contain_text("elev")
    write(page, "")
    page.keyboard.type("g.V().hasLa")
    page.get_by_role("option", name=re.compile("hasLabel")).wait_for()
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Query")).to_have_text("g.V().hasLabel")


def test_numbers_keep_their_digits_and_values_stay_text(page):
    run(page, "g.inject(9223372036854775807, '<img src=x onerror=alert(1)>', 12345678901234567890123)")
    expect(page.get_by_text("3 results")).to_be_visible()
    values = ["9223372036854775807", "<img src=x onerror=alert(1)>", "12345678901234567890123"]
    assert [row[1] for row in rows(page)] == values
    tab(page, "JSON")
    expect(page.get_by_role("region", name="Results as JSON")).to_contain_text("12345678901234567890123")
    assert page.locator("img[src=x]").count() == 0


def test_markup_in_names_and_properties_stays_text(owned):
    markup = "<img src=x onerror=alert(1)>"
    run(owned, f'g.addV("{markup}").property("name", "{markup}").property("{markup}", "{markup}")')
    expect(note(owned)).to_contain_text("1 vertex")
    find(owned, markup)
    expect(owned.get_by_role("region", name="Legend")).to_contain_text(markup)
    tab(owned, "Schema")
    expect(owned.locator("svg.schema-picture")).to_contain_text(markup)
    assert owned.locator("img[src=x]").count() == 0


def test_an_error_shows_its_place(browser, air):  # noqa: F811
    with visiting(browser, air, REFUSED) as page:
        run(page, "g.V()\n  .outt()")
        expect(page.get_by_role("alert")).to_contain_text("unknown step `outt`")
        expect(page.get_by_role("alert")).to_contain_text("did you mean `out`?")
        expect(page.locator(".cm-lintRange-error")).to_have_text("outt")


def test_an_error_that_names_a_command_leads_to_the_steps(browser, air):  # noqa: F811
    with visiting(browser, air, REFUSED) as page:
        run(page, "g.V().read()")
        page.get_by_role("button", name="a list of the steps").click()
        page.get_by_label("Search the steps").fill("valueMap")
        expect(page.get_by_role("complementary", name="Steps").get_by_role("term").first).to_have_text("valueMap")


def test_a_query_that_fails_half_way_is_no_whole(browser, tmp_path):  # noqa: F811
    mg.open(tmp_path / "empty.mg").close()
    with serving(tmp_path / "empty.mg", "--timeout", "1s") as (_, address), visiting(browser, address, BROKEN) as page:
        run(page, "g.inject(0).repeat(__.math('_ + 1')).emit(__.is(lt(100)))")
        expect(page.get_by_role("alert")).to_contain_text("The query failed after 99 results. They are not all.")
        assert rows(page)[0] == ["1", "1"]


def test_more_results_than_one_can_read_are_cut(page):
    run(page, "g.V().repeat(both()).times(14).values('code')")
    expect(page.get_by_text("The first 10,000 results. Add limit()")).to_be_visible()
    expect(page.get_by_text("10,000 results,")).to_be_visible()
    page.get_by_role("region", name="Results").evaluate("table => table.scrollTo(0, table.scrollHeight)")
    expect(page.get_by_role("cell", name="10000", exact=True)).to_be_visible()


def test_a_query_can_be_stopped(page):
    run(page, "g.inject(1).repeat(__.math('_ + 1')).until(__.is(lt(0)))")
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text("Stopped.")).to_be_visible()
    run(page, "g.V().count()")
    expect(page.get_by_text("1 result,")).to_be_visible()


def test_explain_and_profile_show_a_tree(page):
    query = "g.V().has('code', 'AUS').where(out('route').count().is(gt(1)))"
    run(page, query, "Explain")
    plan = page.get_by_role("treegrid", name="Plan")
    expect(plan).to_contain_text("SCAN of 5 vertices")
    expect(plan.locator('tr[aria-level="2"]').first).to_be_visible()
    expect(page.get_by_text(re.compile("rules? changed the query"))).to_be_visible()
    run(page, query, "Profile")
    expect(page.get_by_text(re.compile(r"^1 result in [\d.]+ (µs|ms)$"))).to_be_visible()
    steps = page.get_by_role("treegrid", name="Profile")
    expect(steps.locator('tr[aria-level="2"]').first).to_be_visible()
    expect(steps.get_by_role("columnheader", name="traversers")).to_be_visible()


def test_the_history_keeps_queries(page):
    run(page, "g.V().count()")
    expect(page.get_by_text("1 result,")).to_be_visible()
    run(page, "g.E().values('dist')")
    expect(page.get_by_text("5 results,")).to_be_visible()
    page.reload()
    page.get_by_role("button", name="History", exact=True).click()
    history = page.get_by_role("complementary", name="History")
    expect(history.get_by_role("listitem")).to_have_count(2)
    expect(history.get_by_role("listitem").first).to_contain_text("5 results")
    history.get_by_label("Search the history").fill("count")
    history.get_by_text("g.V().count()").click()
    expect(page.get_by_role("textbox", name="Query")).to_have_text("g.V().count()")


def test_vertices_show_as_a_graph_with_the_edges_between_them(page):
    run(page, "g.V().hasLabel('airport')")
    expect(page.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")
    expect(note(page)).to_contain_text("4 vertices, 5 edges")
    legend = page.get_by_role("region", name="Legend")
    expect(legend).to_contain_text("airport 4")
    expect(legend).to_contain_text("route 5")
    page.get_by_role("button", name="List").click()
    table = page.get_by_role("table", name="Vertices in view")
    expect(table.get_by_role("row")).to_have_count(5)


def test_elements_are_found_anywhere_in_results(page):
    shown = {
        "g.V('AUS').outE('route')": "3 vertices, 2 edges",
        "g.V('AUS').outE('route').inV().path()": "3 vertices, 2 edges",
        "g.V('AUS').out().tree()": "4 vertices, 5 edges",
        "g.V('AUS').outE('in').subgraph('s').cap('s')": "2 vertices, 1 edge",
        "g.V('AUS').project('a', 'b').by().by(out('in').fold())": "2 vertices, 1 edge",
    }
    for query, elements in shown.items():
        run(page, "g.inject(1)")
        expect(page.get_by_role("cell", name="1", exact=True).last).to_be_visible()
        run(page, query)
        expect(page.get_by_text(re.compile(r"\d results?,"))).to_be_visible()
        tab(page, "Graph")
        expect(note(page)).to_contain_text(elements)


def test_neighbours_come_by_a_button_and_by_a_double_click(page):
    run(page, "g.V('WLG')")
    expect(note(page)).to_contain_text("1 vertex, 0 edges")
    find(page, "WLG")
    page.get_by_label("Direction").select_option("incoming")
    page.get_by_role("button", name="Expand").click()
    expect(note(page)).to_contain_text("2 vertices, 1 edge")
    find(page, "DFW")
    box = page.locator(".canvas").bounding_box()
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(note(page)).to_contain_text("3 vertices, 3 edges")


def test_a_vertex_can_be_dragged_pinned_and_removed_from_the_view(page):
    run(page, "g.V('AUS', 'DFW')")
    find(page, "AUS")
    selected = page.get_by_role("region", name="Selected")
    expect(selected).to_contain_text("Austin")
    box = page.locator(".canvas").bounding_box()
    middle = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1] + 40, steps=8)
    page.mouse.up()
    selected.get_by_role("button", name="Unpin").click()
    expect(selected.get_by_role("button", name="Pin", exact=True)).to_be_visible()
    selected.get_by_role("button", name="Remove from view").click()
    expect(note(page)).to_contain_text("1 vertex, 0 edges")


def test_the_panel_says_an_id_once(owned):
    run(owned, "g.addV('stop').property(T.id, 's1').property('id', 's1').property('name', 'Pier')")
    find(owned, "Pier")
    selected = owned.get_by_role("region", name="Selected")
    expect(selected.get_by_role("term")).to_have_text(["label", "id", "name"])
    expect(selected.get_by_role("definition")).to_have_text(["stop", "s1", "Pier"])


def test_labels_get_colours_and_captions_and_can_be_hidden(page):
    run(page, "g.V()")
    legend = page.get_by_role("region", name="Legend")
    legend.get_by_role("button", name="airport 4").click()
    legend.get_by_label("Caption").select_option("city")
    legend.get_by_label("Colour").fill("#123456")
    svg = saved(page, "SVG").path().read_text()
    assert "Wellington" in svg and "#123456" in svg
    legend.get_by_role("button", name="Hide country").click()
    assert "United States" not in saved(page, "SVG").path().read_text()


def test_the_view_is_exported_as_pictures_and_tables(page, tmp_path):
    run(page, "g.V()")
    expect(note(page)).to_contain_text("5 vertices, 6 edges")
    svg = ElementTree.parse(saved(page, "SVG").path()).getroot()
    circles = svg.findall("{http://www.w3.org/2000/svg}circle")
    assert len(circles) == 5
    png = saved(page, "PNG").path().read_bytes()
    assert png.startswith(b"\x89PNG") and len(png) > 2000
    for kind in ("vertices", "edges"):
        saved(page, f"{kind.capitalize()} CSV").save_as(tmp_path / f"{kind}.csv")
    with mg.open(tmp_path / "again.mg") as db:
        db.load(tmp_path / "vertices.csv", tmp_path / "edges.csv")
        assert db.query("g.V('AUS').values('elev')").to_list() == [542]
        assert sorted(db.query("g.V('AUS').outE('route').values('dist')").to_list()) == [190, 4921]


@pytest.mark.parametrize("space, prefix", [("graph", ""), ("label", "point/")])
def test_long_ids_keep_their_digits_when_neighbours_come(browser, tmp_path, space, prefix):  # noqa: F811
    first, second = 9007199254740993, 9007199254740992
    with mg.open(tmp_path / "ids.mg", id_space=space) as db:
        db.query("g.addV('point').property(id, x).addV('point').property(id, y)", x=first, y=second).to_list()
        ends = [prefix + str(end) if prefix else end for end in (first, second)]
        db.query("g.V(x).addE('to').to(__.V(y))", x=ends[0], y=ends[1]).to_list()
    with serving(tmp_path / "ids.mg") as (_, address), visiting(browser, address) as page:
        run(page, "g.V().limit(1)")
        find(page, f"{prefix}{first}")
        page.get_by_role("button", name="Expand").click()
        expect(note(page)).to_contain_text("2 vertices, 1 edge")
        page.get_by_role("button", name="List").click()
        expect(page.get_by_role("cell", name=f"{prefix}{second}").first).to_be_visible()


def test_a_table_row_leads_to_the_graph(page):
    run(page, "g.V('LHR')")
    tab(page, "Table")
    page.get_by_role("button", name="Show in graph").click()
    expect(page.get_by_role("region", name="Selected")).to_contain_text("London")


def test_two_thousand_vertices_can_be_moved(browser, tmp_path):  # noqa: F811
    db = mg.open(tmp_path / "many.mg")
    with db.ingest() as w:
        w.add_vertices("point", [{"~id": number} for number in range(2000)])
        w.add_edges("near", [(number, (number * 7 + 1) % 2000) for number in range(2000)], columns=["from", "to"])
    db.close()
    with serving(tmp_path / "many.mg") as (_, address), visiting(browser, address) as page:
        run(page, "g.V()")
        expect(note(page)).to_contain_text("2,000 vertices, 2,000 edges")
        expect(page.get_by_role("button", name="Layout", exact=True)).to_be_visible(timeout=60_000)
        drawn(page)
        canvas = page.locator(".canvas")
        before, box = canvas.screenshot(), canvas.bounding_box()
        page.mouse.move(box["x"] + 10, box["y"] + 10)
        page.mouse.down()
        page.mouse.move(box["x"] + 150, box["y"] + 100, steps=10)
        page.mouse.up()
        drawn(page)
        assert canvas.screenshot() != before
        page.get_by_role("group", name="Graph").press("0")
        expect(note(page)).to_contain_text("2,000 vertices")


def test_a_layout_that_is_seen_moving_ends(browser, air):  # noqa: F811
    with visiting(browser, air, reduced_motion="no-preference") as page:
        run(page, "g.V()")
        expect(page.get_by_role("button", name="Layout", exact=True)).to_be_visible()
        expect(note(page)).to_contain_text("5 vertices, 6 edges")


def test_the_schema_is_a_picture_with_counts(page):
    tab(page, "Schema")
    picture = page.get_by_role("img", name=re.compile("Schema"))
    expect(picture).to_have_attribute("aria-label", re.compile(r"airport \(4\).*airport route airport.*airport in country"))
    expect(picture).to_contain_text("route 5")
    expect(page.get_by_text("comes from a sample")).to_be_visible()
    expect(page.get_by_role("region", name="Vertices").get_by_role("row", name="elev")).to_contain_text("int")


def test_an_admin_makes_indexes_and_checks_the_database(owned):
    tab(owned, "Schema")
    owned.get_by_role("group", name="A new index").get_by_label("Property").select_option("code")
    owned.get_by_role("button", name="Make an index").click()
    indexes = owned.get_by_role("region", name="Indexes")
    expect(indexes.get_by_role("row", name=re.compile("airport code"))).to_be_visible()
    indexes.get_by_role("button", name="Remove").click()
    expect(indexes.get_by_text("There is none.")).to_be_visible()
    owned.get_by_role("button", name="Check").click()
    expect(owned.get_by_text("No contradictions in 5 vertices and 6 edges.")).to_be_visible()


def test_the_wizard_loads_vertices_and_edges(owned, tmp_path):
    people, knows = tmp_path / "person.csv", tmp_path / "knows.csv"
    people.write_text('nick,name,born\nada,"Lovelace, Ada",1815\ngrace,Grace Hopper,1906\n')
    knows.write_text("who,whom,since\nada,grace,1900\ngrace,ada,1901\n")
    tab(owned, "Load")
    owned.get_by_label("File to load").set_input_files(people)
    expect(owned.get_by_role("region", name="First rows")).to_contain_text("Lovelace, Ada")
    expect(owned.get_by_label("Label")).to_have_value("person")
    owned.get_by_label("Column of ids").select_option("nick")
    expect(owned.get_by_label("A vertex that exists")).to_contain_text("gets the values of the row (update)")
    owned.set_viewport_size({"width": 1000, "height": 420})
    owned.get_by_role("button", name="Load", exact=True).click()
    expect(owned.get_by_text("2 vertices and 0 edges stored")).to_be_in_viewport()
    owned.get_by_label("File to load").set_input_files(knows)
    owned.get_by_label("Edges").check()
    owned.get_by_label("From: column").select_option("whom")
    owned.get_by_label("To: column").select_option("who")
    owned.get_by_role("button", name="Load", exact=True).click()
    expect(owned.get_by_text("0 vertices and 2 edges stored")).to_be_visible()
    tab(owned, "Query")
    run(owned, "g.V('ada').outE('knows').values('since')")
    expect(owned.get_by_text("1 result,")).to_be_visible()
    assert rows(owned)[0][1] == "1901"


def test_the_wizard_says_which_row_is_wrong(owned, tmp_path):
    file = tmp_path / "airport.csv"
    file.write_text("code,city\nAUS,Austin\n")
    tab(owned, "Load")
    owned.get_by_label("File to load").set_input_files(file)
    owned.get_by_role("button", name="Load", exact=True).click()
    expect(owned.get_by_role("alert")).to_contain_text("airport.csv:2")


def test_an_algorithm_runs_and_colours_the_graph(page):
    run(page, "g.V().hasLabel('airport')")
    expect(note(page)).to_contain_text("4 vertices")
    tab(page, "Analytics")
    page.get_by_role("combobox", name="Algorithm").select_option("pagerank")
    page.get_by_label("damping").fill("0.9")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("status", name="pagerank")).to_contain_text("is done")
    values = page.get_by_role("table", name="Values")
    expect(values.get_by_role("row")).to_have_count(6)
    page.get_by_role("button", name="Show as colour").click()
    legend = page.get_by_role("region", name="Legend")
    expect(legend.get_by_role("heading", name="pagerank as colour")).to_be_visible()
    colours = set(re.findall(r'<circle[^>]*fill="(#\w+)"', saved(page, "SVG").path().read_text()))
    assert len(colours) > 1
    legend.get_by_role("button", name="Show labels again").click()
    assert len(set(re.findall(r'<circle[^>]*fill="(#\w+)"', saved(page, "SVG").path().read_text()))) == 1
    tab(page, "Analytics")
    page.get_by_role("button", name="Show as size").click()
    expect(legend.get_by_role("heading", name="pagerank as size")).to_be_visible()
    assert len(set(re.findall(r'<circle[^>]* r="([^"]+)"', saved(page, "SVG").path().read_text()))) > 1


def test_the_first_vertices_of_an_algorithm_come_into_view(page):
    tab(page, "Analytics")
    page.get_by_role("combobox", name="Algorithm").select_option("wcc")
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Load the first 200 into the view").click()
    expect(note(page)).to_contain_text("5 vertices, 6 edges")
    expect(page.get_by_role("region", name="Legend")).to_contain_text("Each group has a colour.")


def test_values_of_pairs_are_no_colours(page):
    tab(page, "Analytics")
    page.get_by_role("combobox", name="Algorithm").select_option("similarity")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("table", name="Values").get_by_role("columnheader", name="other")).to_be_visible()
    load = page.get_by_role("button", name="Load the first 200 into the view")
    expect(load).to_be_disabled()
    expect(load).to_have_attribute("title", "These are not values of vertices.")


def test_a_server_with_users_asks_for_a_login(browser, guarded):  # noqa: F811
    with visiting(browser, guarded, REFUSED) as page:
        login = page.get_by_role("dialog", name="Log in")
        login.get_by_label("Name").fill("eve")
        login.get_by_label("Password").fill("wrong word")
        login.get_by_role("button", name="Log in").click()
        expect(login.get_by_role("alert")).to_contain_text("name or password is wrong")
        login.get_by_label("Password").fill(SECRET.format("eve"))
        login.get_by_label("Password").press("Enter")
        expect(login).to_be_hidden()
        expect(page.get_by_role("banner")).to_contain_text("everead")
        run(page, "g.V().count()")
        expect(page.get_by_text("1 result,")).to_be_visible()
        run(page, "g.addV('x')")
        expect(page.get_by_role("alert")).to_contain_text("you need the role `write`")
        tab(page, "Schema")
        expect(page.get_by_role("button", name="Check")).to_be_disabled()
        expect(page.get_by_role("button", name="Check")).to_have_attribute("title", "This needs the role admin. Yours is read.")
        tab(page, "Load")
        expect(page.get_by_text("This needs the role write. Yours is read.")).to_be_visible()
        expect(page.get_by_label("File to load")).to_be_disabled()
        page.reload()
        expect(page.locator(".badge", has_text="read")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        expect(login).to_be_visible()


def test_a_token_that_has_ended_asks_again(browser, guarded):  # noqa: F811
    with visiting(browser, guarded, REFUSED) as page:
        page.evaluate("sessionStorage.setItem('mangrove.token', 'mangrove_0123')")
        page.reload()
        expect(page.get_by_role("dialog", name="Log in")).to_be_visible()


def test_a_read_only_server_says_so(browser, tmp_path):  # noqa: F811
    mg.open(tmp_path / "kept.mg").close()
    with serving(tmp_path / "kept.mg", "--read-only") as (_, address), visiting(browser, address) as page:
        expect(page.get_by_text("read only", exact=True)).to_be_visible()
        tab(page, "Load")
        expect(page.get_by_label("File to load")).to_be_disabled()
        expect(page.get_by_text("This database is read only.")).to_be_visible()


def test_several_databases_can_be_chosen(browser, tmp_path):  # noqa: F811
    for name in ("a", "b"):
        db = mg.open(tmp_path / f"{name}.mg")
        db.query(f"g.addV('{name}')").to_list()
        db.close()
    served = (f"{name}={tmp_path / name}.mg" for name in ("a", "b"))
    with serving(*served) as (_, address), visiting(browser, address) as page:
        page.get_by_label("Database").select_option("b")
        run(page, "g.V().label()")
        expect(page.get_by_text("1 result,")).to_be_visible()
        assert rows(page)[0][1] == "b"


def test_colours_follow_the_system_and_a_switch(browser, air):  # noqa: F811
    def ground(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    with visiting(browser, air, color_scheme="dark") as page:
        dark = ground(page)
        page.get_by_role("button", name="Light colours").click()
        light = ground(page)
        assert dark != light == "rgb(255, 255, 255)"
        page.reload()
        assert ground(page) == light


def test_the_keyboard_reaches_everything(page):
    page.get_by_role("button", name="Keys and help").focus()
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Keys")
    expect(help_).to_contain_text("Ctrl-Enter")
    page.keyboard.press("Escape")
    expect(help_).to_be_hidden()
    expect(page.get_by_role("button", name="Keys and help")).to_be_focused()
    page.keyboard.press("Alt+Digit2")
    expect(page.get_by_role("tab", name="Schema")).to_have_attribute("aria-selected", "true")
    page.get_by_role("tab", name="Schema").press("ArrowRight")
    expect(page.get_by_role("tab", name="Load")).to_be_focused()


def test_every_control_has_a_name(page):
    def unnamed():
        nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        seen = [node for node in nodes if not node["ignored"] and node["role"]["value"] in CONTROLS]
        assert seen
        return [node["role"]["value"] for node in seen if not node["name"]["value"].strip()]

    run(page, "g.V()")
    find(page, "AUS")
    page.get_by_role("button", name="airport 4").click()
    assert unnamed() == []
    for name in ("Table", "JSON", "Schema", "Analytics"):
        tab(page, name)
        assert unnamed() == []
    tab(page, "Load")
    page.get_by_label("File to load").set_input_files({"name": "a.csv", "mimeType": "text/csv", "buffer": b"from,to\n1,2\n"})
    expect(page.get_by_label("An edge that exists")).to_be_visible()
    assert unnamed() == []


def test_a_narrow_page_has_room_for_the_picture(browser, air):  # noqa: F811
    def is_whole():
        return page.evaluate("""() => {
            const inside = [...document.querySelectorAll("html, main, .sheet, .query-main, .graph-body")];
            return inside.every((box) => box.scrollWidth <= box.clientWidth);
        }""")

    with visiting(browser, air) as page:
        run(page, "g.V()")
        find(page, "AUS")
        for width in (880, 360):
            page.set_viewport_size({"width": width, "height": 700})
            drawn(page)
            picture, side = page.locator(".canvas").bounding_box(), page.get_by_role("region", name="Selected").bounding_box()
            assert picture["height"] >= 0.6 * 700 and picture["width"] > 0.9 * width
            assert side["y"] >= picture["y"] + picture["height"]
            assert page.locator(".canvas canvas").first.bounding_box()["width"] == picture["width"]
            assert is_whole()
        for name in ("Table", "JSON", "Schema", "Load", "Analytics"):
            tab(page, name)
            assert is_whole()


def test_the_page_tells_its_licences(page):
    page.get_by_role("button", name="Keys and help").click()
    with page.expect_popup() as opened:
        page.get_by_role("link", name="licences").click()
    expect(opened.value.locator("body")).to_contain_text("sigma")
    expect(opened.value.locator("body")).to_contain_text("Permission is hereby granted, free of charge")
