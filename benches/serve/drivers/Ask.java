import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.FutureTask;
import java.util.stream.LongStream;
import org.apache.tinkerpop.gremlin.driver.Cluster;
import org.neo4j.driver.GraphDatabase;
import org.neo4j.driver.Session;

/**
 * How fast a server answers the official Java driver: {@code Ask ADDRESS PID SECONDS CLIENTS,… REQUESTS}.
 *
 * <p>Each line of the file REQUESTS is the parameter x (a number, or nothing), a tab and a query. Each client is a thread that takes a
 * whole result before it asks again.
 */
final class Ask {
    /** Microseconds of a clock tick, which is 1/100 s on every Linux that runs Java. */
    private static final double TICK_US = 10_000;
    private static final long WARM_NANOS = 10_000_000_000L;

    private record Request(String text, Map<String, Object> parameters) {
        static Request of(String line) {
            String[] parts = line.split("\t", 2);
            return new Request(parts[1], parts[0].isEmpty() ? Map.of() : Map.of("x", Long.valueOf(parts[0])));
        }
    }

    private interface Client {
        List<?> ask(Request request) throws Exception;

        default void close() {}
    }

    private interface Server extends AutoCloseable {
        Client connect();

        @Override
        void close();
    }

    /** One driver for all threads, with a connection for each. */
    private static Server server(URI address, int clients) {
        if (address.getScheme().equals("bolt")) return new Neo4j(GraphDatabase.driver(address));
        Cluster.Builder cluster = Cluster.build(address.getHost()).port(address.getPort()).path(address.getPath());
        Cluster built = cluster.minConnectionPoolSize(clients).maxConnectionPoolSize(clients).create();
        return new TinkerPop(built, built.connect().alias("g"));
    }

    private record Neo4j(org.neo4j.driver.Driver driver) implements Server {
        @Override
        public Client connect() {
            Session session = driver.session();
            return new Client() {
                @Override
                public List<?> ask(Request request) {
                    return session.run(request.text, request.parameters).list();
                }

                @Override
                public void close() {
                    session.close();
                }
            };
        }

        @Override
        public void close() {
            driver.close();
        }
    }

    /** Its client is a pool of connections. */
    private record TinkerPop(Cluster cluster, org.apache.tinkerpop.gremlin.driver.Client pool) implements Server {
        @Override
        public Client connect() {
            return request -> pool.submit(request.text, request.parameters).all().get();
        }

        @Override
        public void close() {
            cluster.close();
        }
    }

    private final Server server;
    private final String pid;
    private final long nanos;
    private final List<Request> requests;

    private Ask(Server server, String pid, long nanos, List<Request> requests) {
        this.server = server;
        this.pid = pid;
        this.nanos = nanos;
        this.requests = requests;
    }

    public static void main(String[] arguments) throws Exception {
        int[] clients = Arrays.stream(arguments[3].split(",")).mapToInt(Integer::parseInt).toArray();
        int most = Arrays.stream(clients).max().getAsInt();
        List<Request> requests = Files.readAllLines(Path.of(arguments[4])).stream().map(Request::of).toList();
        try (Server server = server(URI.create(arguments[0]), most)) {
            Ask ask = new Ask(server, arguments[1], (long) (Double.parseDouble(arguments[2]) * 1e9), requests);
            ask.warm(most);
            List<String> seen = new ArrayList<>();
            for (int count : clients) seen.add(ask.measure(count).json());
            System.out.println(seen);
        }
        System.exit(0);
    }

    private record Seen(int clients, double rate, double p50, double p99, double cpu) {
        String json() {
            String format = "{\"clients\": %d, \"per_second\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, \"server_cpu_us\": %.1f}";
            return String.format(Locale.ROOT, format, clients, rate, p50, p99, cpu);
        }
    }

    /** Lets both Java machines compile what runs: for ten seconds, and until two rounds in a row are not 10 % faster than all before. */
    private void warm(int clients) throws Exception {
        double best = 0;
        long end = System.nanoTime() + WARM_NANOS;
        for (int slow = 0; slow < 2 || System.nanoTime() < end; ) {
            double rate = measure(clients).rate;
            slow = rate > best * 1.1 ? 0 : slow + 1;
            best = Math.max(best, rate);
        }
    }

    private Seen measure(int clients) throws Exception {
        List<Client> connected = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            connected.add(server.connect());
            connected.get(client).ask(requests.get(0));
        }
        long cpu = ticks(), start = System.nanoTime();
        List<FutureTask<LongStream>> tasks = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int at = client;
            tasks.add(new FutureTask<>(() -> times(connected.get(at), at * requests.size() / clients, start + nanos)));
        }
        tasks.forEach(task -> new Thread(task).start());
        List<LongStream> all = new ArrayList<>();
        for (var task : tasks) all.add(task.get());
        double seconds = (System.nanoTime() - start) / 1e9;
        cpu = ticks() - cpu;
        for (Client client : connected) client.close();
        long[] took = all.stream().flatMapToLong(one -> one).sorted().toArray();
        double p50 = took[took.length / 2] / 1e3, p99 = took[took.length * 99 / 100] / 1e3;
        return new Seen(clients, took.length / seconds, p50, p99, cpu * TICK_US / took.length);
    }

    /** The nanoseconds that each request of one client takes until the end. */
    private LongStream times(Client client, int turn, long end) throws Exception {
        LongStream.Builder took = LongStream.builder();
        for (long now = System.nanoTime(); now < end; ) {
            client.ask(requests.get(turn++ % requests.size()));
            long then = now;
            now = System.nanoTime();
            took.add(now - then);
        }
        return took.build();
    }

    /** The processor time of the server, in user and system. */
    private long ticks() throws Exception {
        String stat = Files.readString(Path.of("/proc", pid, "stat"));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return Long.parseLong(fields[11]) + Long.parseLong(fields[12]);
    }
}
