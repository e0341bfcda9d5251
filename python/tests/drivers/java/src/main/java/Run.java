// Asks a server with the driver for Java: Run ADDRESS QUERIES. Prints the answers as JSON.

import static org.apache.tinkerpop.gremlin.process.traversal.AnonymousTraversalSource.traversal;

import java.io.File;
import java.net.URI;
import java.util.*;
import java.util.function.Consumer;
import org.apache.tinkerpop.gremlin.driver.Client;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.apache.tinkerpop.gremlin.driver.Result;
import org.apache.tinkerpop.gremlin.driver.exception.ResponseException;
import org.apache.tinkerpop.gremlin.driver.remote.DriverRemoteConnection;
import org.apache.tinkerpop.gremlin.process.traversal.Order;
import org.apache.tinkerpop.gremlin.process.traversal.P;
import org.apache.tinkerpop.gremlin.process.traversal.Path;
import org.apache.tinkerpop.gremlin.process.traversal.TextP;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversal;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.GraphTraversalSource;
import org.apache.tinkerpop.gremlin.process.traversal.dsl.graph.__;
import org.apache.tinkerpop.gremlin.structure.*;
import org.apache.tinkerpop.shaded.jackson.databind.ObjectMapper;

public class Run {
    /** A value as JSON. Objects of one key say what is no value of JSON. */
    static Object plain(Object value) {
        if (value instanceof Vertex vertex) return Map.of("vertex", vertex.id());
        if (value instanceof Edge edge) return Map.of("edge", edge.id());
        if (value instanceof VertexProperty<?> property) return Map.of("property", List.of(property.key(), plain(property.value())));
        if (value instanceof Path path) return Map.of("path", all(path.objects()));
        if (value instanceof Map<?, ?> map) {
            return Map.of("map", map.entrySet().stream().map(entry -> Arrays.asList(plain(entry.getKey()), plain(entry.getValue()))).toList());
        }
        if (value instanceof Set<?> set) return Map.of("set", all(set));
        if (value instanceof Collection<?> list) return all(list);
        return value instanceof Enum<?> constant ? constant.name() : value;
    }

    static List<Object> all(Collection<?> values) {
        List<Object> list = new ArrayList<>();
        for (Object value : values) list.add(plain(value));
        return list;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> texts(Client client, List<Map<String, Object>> queries) throws Exception {
        Map<String, Object> answers = new LinkedHashMap<>();
        for (var query : queries) {
            var results = client.submit((String) query.get("text"), (Map<String, Object>) query.get("bindings")).all().get();
            answers.put((String) query.get("name"), all(results.stream().map(Result::getObject).toList()));
        }
        return answers;
    }

    /** Queries of the list, written in this language. */
    static Map<String, Object> traversals(GraphTraversalSource g) {
        Map<String, GraphTraversal<?, ?>> written = Map.of(
                "and or", g.V().hasLabel("airport")
                        .and(__.has("runways", P.gt(3)), __.or(__.has("elev", P.lt(500)), __.has("longest", P.gt(12000))))
                        .values("code"),
                "coalesce", g.V().has("airport", "city", TextP.startingWith("Kings ")).order().by("code")
                        .coalesce(__.out("route").values("code").order().limit(1), __.constant("none")),
                "element map", g.V("SAU").elementMap(),
                "group", g.V().hasLabel("airport").group().by("country").by(__.values("code").order().fold()),
                "order", g.V().hasLabel("airport").order().by("runways", Order.desc).by("code").range(5, 15).values("code"),
                "path of elements", g.V("SAU").outE("route").inV().path(),
                "until", g.V("SAU").repeat(__.out("route").simplePath())
                        .until(__.or(__.has("code", "KDA"), __.loops().is(3)))
                        .has("code", "KDA").path().by("code"),
                "where", g.V("SAU").as("a").out("route").as("b").where("a", P.lt("b")).by("elev").values("code"));
        Map<String, Object> answers = new LinkedHashMap<>();
        written.forEach((name, steps) -> answers.put(name, all(steps.toList())));
        return answers;
    }

    /** How many see a new vertex: the transaction, others meanwhile, and others after its end. */
    static List<Long> transaction(GraphTraversalSource g, String name, Consumer<Transaction> end) {
        Transaction tx = g.tx();
        GraphTraversalSource within = tx.begin();
        within.addV("airport").property(T.id, name).iterate();
        long inside = within.V(name).count().next();
        long outside = g.V(name).count().next();
        end.accept(tx);
        return List.of(inside, outside, g.V(name).count().next());
    }

    static Integer status(Client client, String query) throws InterruptedException {
        try {
            client.submit(query).all().get();
        } catch (java.util.concurrent.ExecutionException error) {
            return ((ResponseException) error.getCause()).getResponseStatusCode().getValue();
        }
        return null;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] arguments) throws Exception {
        URI address = URI.create(arguments[0]);
        ObjectMapper json = new ObjectMapper();
        Cluster cluster = Cluster.build(address.getHost()).port(address.getPort()).create();
        Client client = cluster.connect();
        GraphTraversalSource g = traversal().with(DriverRemoteConnection.using(cluster, "g"));
        Map<String, Object> answers = Map.of(
                "texts", texts(client, json.readValue(new File(arguments[1]), List.class)),
                "traversals", traversals(g),
                "committed", transaction(g, "kept", Transaction::commit),
                "rolled back", transaction(g, "undone", Transaction::rollback),
                "codes", List.of(status(client, "g.V().fail('no luck')"), status(client, "g.V().nonsense()")));
        cluster.close();
        System.out.println(json.writeValueAsString(answers));
    }
}
