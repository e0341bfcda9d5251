package mangrove.compare;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.tinkerpop.gremlin.language.grammar.GremlinAntlrToJava;
import org.apache.tinkerpop.gremlin.language.grammar.GremlinQueryParser;
import org.apache.tinkerpop.gremlin.language.grammar.VariableResolver;
import org.apache.tinkerpop.gremlin.process.traversal.Path;
import org.apache.tinkerpop.gremlin.process.traversal.Traversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.structure.Element;
import org.apache.tinkerpop.gremlin.structure.T;
import org.apache.tinkerpop.gremlin.structure.Vertex;
import org.apache.tinkerpop.gremlin.tinkergraph.structure.TinkerGraph;

/** TinkerGraph: objects in memory. A text is parsed before the clock runs, as if it had been written in Java; a run clones the traversal. */
final class TinkerGraphEngine implements Engine {
    private final TinkerGraph graph = TinkerGraph.open();
    private final GraphTraversalSource g = graph.traversal();

    @Override
    public void load(String path, Tables tables) throws Exception {
        graph.createIndex("id", Vertex.class);
        for (Tables.Vertices table : tables.vertices()) table.indexed().forEach(key -> graph.createIndex(key, Vertex.class));
        // Ids of several tables may be the same, so only those of a single one are ids of the graph.
        boolean named = tables.vertices().size() == 1;
        Map<String, Map<Object, Vertex>> vertices = new HashMap<>();
        for (Tables.Vertices table : tables.vertices()) {
            Map<Object, Vertex> byId = vertices.computeIfAbsent(table.label(), label -> new HashMap<>());
            tables.read(table, (ids, properties) ->
                byId.put(ids.get(0), graph.addVertex(pairs(table.label(), named ? ids.get(0) : null, properties))));
        }
        for (Tables.Edges table : tables.edges()) {
            Map<Object, Vertex> sources = vertices.get(table.source()), targets = vertices.get(table.target());
            tables.read(table, (ids, properties) ->
                sources.get(ids.get(0)).addEdge(table.label(), targets.get(ids.get(1)), pairs(null, null, properties)));
        }
    }

    private static Object[] pairs(String label, Object id, Map<String, Object> properties) {
        List<Object> flat = new ArrayList<>();
        if (id != null) flat.addAll(List.of(T.id, id));
        if (label != null) flat.addAll(List.of(T.label, label));
        properties.forEach((key, value) -> flat.addAll(List.of(key, value)));
        return flat.toArray();
    }

    @Override
    public void open(String path) {}

    @Override
    public Query prepare(String text) {
        return params -> {
            var visitor = new GremlinAntlrToJava(g, new VariableResolver.DirectVariableResolver(params));
            Traversal.Admin<?, ?> traversal = ((Traversal<?, ?>) GremlinQueryParser.parse(withLists(text, params), visitor)).asAdmin();
            return () -> {
                List<Object> rows = new ArrayList<>();
                traversal.clone().forEachRemaining(rows::add);
                rows.replaceAll(row -> row instanceof Path path ? List.of(path.objects()) : row instanceof Element one ? one.id() : row);
                return rows;
            };
        };
    }

    /** The grammar knows no variable for a list within `within`, so lists are written out. */
    private static String withLists(String text, Map<String, Object> params) {
        for (Map.Entry<String, Object> param : params.entrySet()) {
            if (!(param.getValue() instanceof List<?> list)) continue;
            String items = list.stream().map(item -> item + "L").collect(Collectors.joining(", "));
            text = text.replaceAll("\\b" + param.getKey() + "\\b", items);
        }
        return text;
    }

    @Override
    public void close() {
        graph.close();
    }
}
