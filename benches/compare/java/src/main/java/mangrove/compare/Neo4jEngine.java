package mangrove.compare;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.dbms.api.DatabaseManagementService;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Result;
import org.neo4j.graphdb.Transaction;
import org.neo4j.io.ByteUnit;

/** Neo4j embedded, community edition: loaded in transactions of 20,000 rows, a unique constraint on each label's id. */
final class Neo4jEngine implements Engine {
    private static final int ROWS = 20_000;
    private DatabaseManagementService service;
    private GraphDatabaseService database;

    @Override
    public void load(String path, Tables tables) throws Exception {
        open(path);
        Map<String, Map<Object, String>> nodes = new HashMap<>();
        try (Batches batches = new Batches()) {
            for (Tables.Vertices table : tables.vertices()) {
                Map<Object, String> byId = nodes.computeIfAbsent(table.label(), label -> new HashMap<>());
                Label[] labels = Stream.concat(Stream.of(table.label()), table.also().stream()).map(Label::label).toArray(Label[]::new);
                tables.read(table, (ids, properties) -> {
                    Node node = batches.next().createNode(labels);
                    properties.forEach(node::setProperty);
                    byId.put(ids.get(0), node.getElementId());
                });
            }
            for (Tables.Edges table : tables.edges()) {
                RelationshipType type = RelationshipType.withName(table.label());
                Map<Object, String> sources = nodes.get(table.source()), targets = nodes.get(table.target());
                tables.read(table, (ids, properties) -> {
                    Transaction tx = batches.next();
                    Node source = tx.getNodeByElementId(sources.get(ids.get(0))), target = tx.getNodeByElementId(targets.get(ids.get(1)));
                    var edge = source.createRelationshipTo(target, type);
                    properties.forEach(edge::setProperty);
                });
            }
        }
        index(tables);
        close();
    }

    private void index(Tables tables) {
        Stream<String> labels = tables.vertices().stream().flatMap(table -> Stream.concat(Stream.of(table.label()), table.also().stream()));
        labels.distinct().forEach(label -> {
            try (Transaction tx = database.beginTx()) {
                tx.schema().constraintFor(Label.label(label)).assertPropertyIsUnique("id").create();
                tx.commit();
            }
        });
        tables.vertices().forEach(table -> table.indexed().forEach(key -> {
            try (Transaction tx = database.beginTx()) {
                tx.schema().indexFor(Label.label(table.label())).on(key).create();
                tx.commit();
            }
        }));
        try (Transaction tx = database.beginTx()) {
            tx.schema().awaitIndexesOnline(10, TimeUnit.MINUTES);
        }
    }

    /** A transaction that is committed, and begun anew, every so many rows. */
    private final class Batches implements AutoCloseable {
        private Transaction tx = database.beginTx();
        private int rows;

        Transaction next() {
            if (++rows % ROWS == 0) {
                tx.commit();
                tx.close();
                tx = database.beginTx();
            }
            return tx;
        }

        @Override
        public void close() {
            tx.commit();
            tx.close();
        }
    }

    @Override
    public void open(String path) {
        service = new DatabaseManagementServiceBuilder(Path.of(path))
            .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.gibiBytes(1))
            .setConfig(GraphDatabaseSettings.keep_logical_logs, "keep_none")
            .setConfig(GraphDatabaseSettings.preallocate_logical_logs, false)
            .build();
        database = service.database("neo4j");
    }

    @Override
    public Query prepare(String text) {
        return params -> () -> {
            try (Transaction tx = database.beginTx()) {
                List<Object> rows = new ArrayList<>();
                boolean changed;
                try (Result result = tx.execute(text, params)) {
                    List<String> columns = result.columns();
                    while (result.hasNext()) {
                        Map<String, Object> row = result.next();
                        rows.add(columns.stream().map(row::get).collect(ArrayList::new, ArrayList::add, ArrayList::addAll));
                    }
                    changed = result.getQueryStatistics().containsUpdates();
                }
                if (changed) tx.commit();
                return rows;
            }
        };
    }

    @Override
    public void close() {
        service.shutdown();
    }
}
