"""Pictures in notebooks: the direction of edges, sizes, colours, and what is too large to draw."""

import re

import pytest

import mangrovedb as mg


@pytest.fixture
def tiny(empty):
    empty.query("g.addV('person').property(id, 'a').addV('person').property(id, 'b').addV('dog').property(id, 'd')")
    empty.query("g.V('b').addE('knows').to(V('a'))")
    return empty


def picture(result):
    html = result._repr_html_()
    return html[: html.index("</svg>")] if "</svg>" in html else ""


def heads(result):
    return picture(result).count('marker-end="url(#mg-arrow)"')


def test_an_arrow_stands_only_where_the_direction_is_known(tiny):
    assert heads(tiny.query("g.E()")) == 1
    assert heads(tiny.query("g.V('a').inE().outV().path()")) == 1, "the path has the edge"
    walk = tiny.query("g.V('a').in('knows').path()")
    assert heads(walk) == 0 and picture(walk).count("<line") == 1
    assert heads(tiny.query("g.V('a').in('knows').tree()")) == 0
    both = tiny.query("g.V('a', 'b').both().path()")
    assert heads(both) == 0 and picture(both).count("<line") == 1, "one line, not two"


def test_one_vertex_takes_a_small_picture(tiny):
    assert 'width="160" height="100"' in picture(tiny.query("g.V('a')"))
    assert 'width="640"' in picture(tiny.query("g.V()"))


def test_a_label_has_one_colour_everywhere(tiny):
    colour = lambda query: re.search(r'<circle [^>]*fill="(#[0-9a-f]{6})"><title>dog', picture(tiny.query(query))).group(1)
    assert colour("g.V('d')") == colour("g.V()")


def test_what_is_too_large_to_draw_says_so(empty):
    empty.load(nodes={"n": [{"id": n} for n in range(75)]})
    html = empty.query("g.V()")._repr_html_()
    assert "<svg" not in html and "no picture: there are more than 60 vertices" in html
    assert "<svg" in empty.query("g.V().limit(60)")._repr_html_()
