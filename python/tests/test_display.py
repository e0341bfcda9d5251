"""What a notebook shows."""

import xml.etree.ElementTree as ET

from mangrovedb import _display


def svg(html):
    start, end = html.index("<svg"), html.index("</svg>") + len("</svg>")
    return ET.fromstring(html[start:end])


def tags(element, name):
    return element.findall(f".//{{http://www.w3.org/2000/svg}}{name}")


def test_values_show_as_a_table(db):
    html = db.query("g.V().hasLabel('airport').order().by('code').valueMap('code', 'elev').by(unfold())")._repr_html_()
    assert "<svg" not in html
    assert html.count("<tr>") == 5 and ">code</th>" in html and ">542</td>" in html


def test_elements_show_as_a_picture_too(db):
    picture = svg(db.query("g.V('AUS').outE('route').inV().path()")._repr_html_())
    assert len(tags(picture, "circle")) == 3
    assert len(tags(picture, "line")) == 2
    titles = [title.text for title in tags(picture, "title")]
    assert any("Austin" in title for title in titles) and "route" in titles


def test_a_path_without_its_edges_is_joined(db):
    picture = svg(db.query("g.V('AUS').out('route').path()")._repr_html_())
    assert len(tags(picture, "line")) == 2


def test_texts_of_the_graph_are_escaped(empty):
    empty.query("g.addV('<b>').property('name', x)", x="<script>alert(1)</script>")
    for query in ("g.V()", "g.V().values('name')"):
        html = empty.query(query)._repr_html_()
        assert "<script>" not in html and "&lt;script&gt;" in html


def test_long_results_are_cut_with_a_word(empty):
    empty.query("g.inject(x).unfold().as('i').addV('n')", x=list(range(200)))
    html = empty.query("g.V().id()")._repr_html_()
    assert "200 rows, the first 50 shown" in html and html.count("<tr>") == 51
    assert "<svg" not in empty.query("g.V()")._repr_html_()


def test_a_database_shows_what_it_holds(db):
    html = db._repr_html_()
    assert "airport" in html and ">4</td>" in html and "route" in html


def test_the_layout_brings_neighbours_together():
    ring = [(i, (i + 1) % 8) for i in range(8)]
    places = _display.layout(8, ring)

    def distance(a, b):
        return ((places[a][0] - places[b][0]) ** 2 + (places[a][1] - places[b][1]) ** 2) ** 0.5

    assert max(distance(a, b) for a, b in ring) < min(distance(i, (i + 4) % 8) for i in range(8))
    assert places == _display.layout(8, ring)
