"""Shows results and databases in a notebook: HTML tables, and a small SVG picture of vertices, edges and paths.

It draws everything itself, without JavaScript and other libraries. It escapes every text from the graph.
"""

import math
import zlib
from html import escape

from . import _mangrove as native
from ._types import Tree

ROWS_MAX = 50
CELL_CHARACTERS_MAX = 120
# A picture of more than this is a hairball. The table shows more.
VERTICES_MAX = 60
EDGES_MAX = 200

COLOURS = ["#1b7f5c", "#2f6db5", "#b5562f", "#7a4fb5", "#a38a14", "#b52f6d", "#3d8f9e", "#6b7280"]
STYLE = "border-collapse:collapse;font-size:13px"
CELL_STYLE = "border:1px solid #d0d7de;padding:3px 8px;text-align:left;vertical-align:top"


def result_html(result):
    """A result as HTML: a picture if it consists of elements, and the first rows as a table."""
    vertices, edges = graph_parts(result)
    if len(vertices) > VERTICES_MAX or len(edges) > EDGES_MAX:
        picture = f"<p><i>no picture: there are more than {VERTICES_MAX} vertices or {EDGES_MAX} edges; limit() makes it fewer</i></p>"
    else:
        picture = graph_svg(vertices, edges)
    return picture + table_html(*result._table(ROWS_MAX), len(result))


def database_html(database):
    """The contents of a database as HTML."""
    stats = database.stats()
    rows = [("vertices", label, count) for label, count in stats["vertices"].items()]
    rows += [("edges", label, count) for label, count in stats["edges"].items()]
    caption = f"<p><b>mangrove database</b> <code>{escape(str(database.path))}</code></p>"
    return caption + table_html(["kind", "label", "count"], rows, len(rows))


def explanation_html(explanation):
    """A plan as HTML: the plan after each rule, and the estimates of its steps."""
    plan = explanation.to_dict()
    rules = [("as written", plan["original"])] + [(rule["rule"], rule["plan"]) for rule in plan["rules"]]
    steps = [(indented(step), round(step["expected"]), step["flow"], step["access"] or "") for step in plan["steps"]]
    hints = "".join(f"<p>hint: {escape(step['hint'])}</p>" for step in plan["steps"] if step["hint"])
    tables = table_html(["rule", "plan"], rules, len(rules)) + table_html(["step", "expected", "flow", "access"], steps, len(steps))
    return tables + hints


def profile_html(profile):
    """A profile as HTML: for each step a bar of its time, and its figures."""
    figures = profile.to_dict()
    total = sum(step["time_us"] for step in figures["steps"]) or 1
    head = "".join(f'<th style="{CELL_STYLE}">{name}</th>' for name in ["step", "time", "rows", "traversers", "expected", "threads", "helped"])
    body = "".join(profile_row_html(step, total) for step in figures["steps"])
    results = "1 result" if figures["results"] == 1 else f"{figures['results']:,} results"
    caption = f"<p>{results} in {figures['time_us']:,.1f} µs</p>"
    return f'<table style="{STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{caption}'


def profile_row_html(step, total):
    width = 160 * step["time_us"] / total
    bar = f'<span style="display:inline-block;height:9px;width:{width:.0f}px;background:{COLOURS[1]}"></span>'
    time = f'<td style="{CELL_STYLE}">{bar} {step["time_us"]:,.1f} µs</td>'
    expected = None if step["expected"] is None else round(step["expected"])
    helped = f"{step['helped']}/{step['messages']}" if step["messages"] else ""
    rest = "".join(map(cell_html, [step["rows"], step["traversers"], expected, step["threads"], helped]))
    return f"<tr>{cell_html(indented(step))}{time}{rest}</tr>"


def indented(step):
    mark = "└ " if step["first"] else ""
    return "\u2003" * step["depth"] + mark + step["step"]


def table_html(names, rows, total):
    if not names:
        return "<p><i>no results</i></p>"
    head = "".join(f'<th style="{CELL_STYLE}">{escape(str(name))}</th>' for name in names)
    body = "".join(f"<tr>{''.join(map(cell_html, row))}</tr>" for row in rows)
    more = f"<p><i>{total:,} rows, the first {len(rows)} shown</i></p>" if total > len(rows) else ""
    return f'<table style="{STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def cell_html(value):
    text = "" if value is None else str(value)
    if len(text) > CELL_CHARACTERS_MAX:
        text = text[:CELL_CHARACTERS_MAX] + "…"
    align = ";text-align:right" if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    return f'<td style="{CELL_STYLE}{align}">{escape(text)}</td>'


def graph_parts(items):
    """The distinct vertices and edges among results, with those inside paths, subgraphs, lists and trees. An edge is (source,
    target, label, whether its direction is known). A path or tree without edges shows only that an edge joins two vertices, not its
    direction."""
    vertices, edges = {}, {}

    def add(item):
        if len(vertices) > VERTICES_MAX or len(edges) > EDGES_MAX:
            return
        if isinstance(item, native.Vertex):
            # A vertex with its properties is worth more than the same vertex as the end of an edge.
            if item not in vertices or item.properties:
                vertices[item] = item
        elif isinstance(item, native.Edge):
            add(item.outV)
            add(item.inV)
            edges[item] = (item.outV, item.inV, item.label, True)
        elif isinstance(item, native.Path):
            add_path(item.objects)
        elif isinstance(item, native.Graph):
            for part in (*item.vertices, *item.edges):
                add(part)
        elif isinstance(item, Tree):
            add_tree(item, None)
        elif isinstance(item, (list, set)):
            for part in item:
                add(part)

    def add_path(objects):
        for item in objects:
            add(item)
        for a, b in zip(objects, objects[1:]):
            if isinstance(a, native.Vertex) and isinstance(b, native.Vertex):
                edges.setdefault(frozenset((a, b)), (a, b, "", False))

    def add_tree(tree, above):
        for item, below in tree.items():
            add(item)
            if isinstance(item, native.Vertex) and above is not None:
                edges.setdefault(frozenset((above, item)), (above, item, "", False))
            add_tree(below, item if isinstance(item, native.Vertex) else above)

    for item in items:
        add(item)
        if len(vertices) > VERTICES_MAX or len(edges) > EDGES_MAX:
            break
    return list(vertices.values()), list(edges.values())


def graph_svg(vertices, edges, width=640, height=400):
    """A picture of vertices and edges. Empty if there are none."""
    if not vertices:
        return ""
    if len(vertices) == 1:
        width, height = 160, 100
    ends = [(vertices.index(source), vertices.index(target)) for source, target, _, _ in edges]
    places = scaled(layout(len(vertices), ends), width, height)
    drawn = [edge_svg(places[a], places[b], label, len(edges) <= 25, known) for (a, b), (_, _, label, known) in zip(ends, edges)]
    drawn += [vertex_svg(place, vertex, colour_of(vertex.label)) for place, vertex in zip(places, vertices)]
    arrow = (
        '<defs><marker id="mg-arrow" viewBox="0 0 8 8" refX="17" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#8b949e"/></marker></defs>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="background:#fff;font:11px sans-serif">{arrow}{"".join(drawn)}</svg>'
    )


def colour_of(label):
    """The colour of a label. It is the same in every picture."""
    return COLOURS[zlib.crc32(label.encode()) % len(COLOURS)]


def edge_svg(start, end, label, named, known):
    (x1, y1), (x2, y2) = start, end
    if start == end:
        return f'<circle cx="{x1:.0f}" cy="{y1 - 14:.0f}" r="10" fill="none" stroke="#8b949e"><title>{escape(label)}</title></circle>'
    head = ' marker-end="url(#mg-arrow)"' if known else ""
    line = (
        f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#8b949e"{head}>'
        f"<title>{escape(label)}</title></line>"
    )
    if not named or not label:
        return line
    return line + f'<text x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2 - 3:.0f}" text-anchor="middle" fill="#6e7781">{escape(label)}</text>'


def vertex_svg(place, vertex, colour):
    x, y = place
    details = ", ".join(f"{key}: {value}" for key, value in vertex.properties.items())
    title = escape(f"{vertex.label} {vertex.id}" + (f" ({details})" if details else ""))
    return (
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="9" fill="{colour}"><title>{title}</title></circle>'
        f'<text x="{x:.0f}" y="{y - 12:.0f}" text-anchor="middle" fill="#24292f">{escape(caption(vertex))}</text>'
    )


def caption(vertex):
    """A short text that identifies a vertex: a property like a name, otherwise the id."""
    for key in ("name", "title", "code", "label"):
        value = vertex.properties.get(key)
        if isinstance(value, str) and 0 < len(value) <= 24:
            return value
    text = str(vertex.id)
    return text if len(text) <= 24 else text[:23] + "…"


def layout(count, edges, rounds=120):
    """Positions for `count` points. They start on a circle. Neighbours attract each other and all points repel each other
    (Fruchterman and Reingold, "Graph Drawing by Force-directed Placement", 1991). Each round moves them less. The same graph always
    gets the same result."""
    places = [(math.cos(2 * math.pi * i / count), math.sin(2 * math.pi * i / count)) for i in range(count)]
    ideal = math.sqrt(4 / count)
    for round_ in range(rounds):
        moves = [[0.0, 0.0] for _ in range(count)]

        def pull(a, b, strength):
            dx, dy = places[a][0] - places[b][0], places[a][1] - places[b][1]
            distance = math.hypot(dx, dy) or 1e-3
            force = strength(distance) / distance
            for at, sign in ((a, 1), (b, -1)):
                moves[at][0] += sign * dx * force
                moves[at][1] += sign * dy * force

        for a in range(count):
            for b in range(a):
                pull(a, b, lambda d: ideal * ideal / d)
        for a, b in edges:
            if a != b:
                pull(a, b, lambda d: -d * d / ideal)
        step = 0.1 * (1 - round_ / rounds)
        for at, (dx, dy) in enumerate(moves):
            length = math.hypot(dx, dy) or 1e-9
            reach = min(length, step) / length
            places[at] = (places[at][0] + dx * reach, places[at][1] + dy * reach)
    return places


def scaled(places, width, height, margin=40):
    """The positions, scaled to fill the picture."""

    def spread(values, size):
        low, high = min(values), max(values)
        if high - low < 1e-9:
            return [size / 2 for _ in values]
        return [margin + (value - low) / (high - low) * (size - 2 * margin) for value in values]

    return list(zip(spread([x for x, _ in places], width), spread([y for _, y in places], height)))
