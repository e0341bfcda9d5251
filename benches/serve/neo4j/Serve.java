import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.neo4j.configuration.GraphDatabaseSettings;
import org.neo4j.configuration.connectors.BoltConnector;
import org.neo4j.configuration.helpers.SocketAddress;
import org.neo4j.dbms.api.DatabaseManagementServiceBuilder;
import org.neo4j.graphdb.GraphDatabaseService;
import org.neo4j.graphdb.Label;
import org.neo4j.graphdb.Node;
import org.neo4j.graphdb.RelationshipType;
import org.neo4j.graphdb.Transaction;
import org.neo4j.io.ByteUnit;

/**
 * Neo4j, community edition, over Bolt: {@code Serve EMPTY_FOLDER PORT CSV_FOLDER TABLES}. It says `ready` once it has loaded the tables.
 *
 * <p>Each line of the file TABLES describes a table, with tabs between the fields. Columns are those of properties.
 *
 * <pre>
 * Post.csv                    Post:Message                  id:int content:text
 * Person_knows_Person.csv     Person knows Person           since:int
 * </pre>
 */
final class Serve {
    private static final int ROWS = 20_000;

    private static GraphDatabaseService database;
    private static Path folder;
    private static final Map<String, Map<Long, String>> nodes = new LinkedHashMap<>();

    public static void main(String[] arguments) throws Exception {
        var service = new DatabaseManagementServiceBuilder(Path.of(arguments[0]))
            .setConfig(GraphDatabaseSettings.pagecache_memory, ByteUnit.gibiBytes(1))
            .setConfig(GraphDatabaseSettings.keep_logical_logs, "keep_none")
            .setConfig(GraphDatabaseSettings.auth_enabled, false)
            .setConfig(BoltConnector.enabled, true)
            .setConfig(BoltConnector.listen_address, new SocketAddress("127.0.0.1", Integer.parseInt(arguments[1])))
            .build();
        database = service.database("neo4j");
        folder = Path.of(arguments[2]);
        for (String table : Files.readAllLines(Path.of(arguments[3]))) load(table.split("\t", -1));
        index();
        nodes.clear();
        System.out.println("ready");
    }

    private static void load(String[] table) throws Exception {
        String[] ends = table[1].split(" ");
        if (ends.length == 1) {
            Label[] labels = Arrays.stream(table[1].split(":")).map(Label::label).toArray(Label[]::new);
            for (Label label : labels) nodes.putIfAbsent(label.name(), new HashMap<>());
            read(table, 0, (tx, ids, properties) -> {
                Node node = tx.createNode(labels);
                properties.forEach(node::setProperty);
                nodes.get(labels[0].name()).put(Long.valueOf(ids[0]), node.getElementId());
            });
        } else {
            RelationshipType type = RelationshipType.withName(ends[1]);
            Map<Long, String> sources = nodes.get(ends[0]), targets = nodes.get(ends[2]);
            read(table, 2, (tx, ids, properties) -> {
                Node source = tx.getNodeByElementId(sources.get(Long.valueOf(ids[0])));
                var edge = source.createRelationshipTo(tx.getNodeByElementId(targets.get(Long.valueOf(ids[1]))), type);
                properties.forEach(edge::setProperty);
            });
        }
    }

    private interface Row {
        void add(Transaction tx, String[] fields, Map<String, Object> properties);
    }

    /** Adds the rows of a table, so many to a transaction. The properties begin at the column `first`; an empty field is none. */
    private static void read(String[] table, int first, Row row) throws Exception {
        Stream<String> described = Arrays.stream(table[2].split(" ")).filter(column -> !column.isEmpty());
        String[][] columns = described.map(column -> column.split(":")).toArray(String[][]::new);
        List<String> lines = Files.readAllLines(folder.resolve(table[0]));
        for (int begin = 1; begin < lines.size(); begin += ROWS) {
            try (Transaction tx = database.beginTx()) {
                for (String line : lines.subList(begin, Math.min(begin + ROWS, lines.size()))) {
                    String[] fields = line.split(",", -1);
                    Map<String, Object> properties = new LinkedHashMap<>();
                    for (int at = 0; at < columns.length; at++) {
                        String field = fields[first + at];
                        boolean number = columns[at][1].equals("int");
                        if (!field.isEmpty()) properties.put(columns[at][0], number ? (Object) Long.valueOf(field) : field);
                    }
                    row.add(tx, fields, properties);
                }
                tx.commit();
            }
        }
    }

    /** Makes the property `id` unique among the vertices of each label, which includes an index. */
    private static void index() {
        for (String label : nodes.keySet()) {
            try (Transaction tx = database.beginTx()) {
                tx.schema().constraintFor(Label.label(label)).assertPropertyIsUnique("id").create();
                tx.commit();
            }
        }
        try (Transaction tx = database.beginTx()) {
            tx.schema().awaitIndexesOnline(10, TimeUnit.MINUTES);
        }
    }
}
