package mangrove.compare;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Puts an engine that runs on a JVM behind lines of JSON: one request a line on standard input, one answer a line on standard output.
 * It keeps its own clock, so that the pipe is in none but those of single writes, of some milliseconds each; `engines/java_engine.py` is the other end.
 */
public final class Peer {
    private static final ObjectMapper JSON = new ObjectMapper();
    /** A new query is run for so long before it is measured: the JVM compiles what it runs often. */
    private static final long WARM_NANOS = 1_000_000_000L;

    private final Engine engine;
    private final List<Engine.Query> queries = new ArrayList<>();

    private Peer(Engine engine) {
        this.engine = engine;
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true);
        System.setOut(System.err); // whatever a library prints must not come among the answers
        Peer peer = new Peer(switch (arguments[0]) {
            case "tinkergraph" -> new TinkerGraphEngine();
            case "neo4j" -> new Neo4jEngine();
            default -> throw new IllegalArgumentException("no such engine: " + arguments[0]);
        });
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Object answer;
            try {
                answer = peer.answer(JSON.readTree(line));
            } catch (Throwable error) { // also running out of memory: the driver decides what to do next
                Throwable cause = error;
                while (cause.getCause() != null) cause = cause.getCause();
                answer = Map.of("error", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private Object answer(JsonNode request) throws Exception {
        return switch (request.get("do").asText()) {
            case "load" -> load(request);
            case "open" -> {
                engine.open(request.get("path").asText());
                yield Map.of();
            }
            case "prepare" -> {
                queries.add(engine.prepare(request.get("text").asText()));
                yield Map.of("id", queries.size() - 1);
            }
            case "run" -> run(request);
            case "throughput" -> throughput(request);
            case "latencies" -> latencies(request);
            case "mix" -> mix(request);
            case "close" -> {
                engine.close();
                yield Map.of();
            }
            default -> throw new IllegalArgumentException("no such request");
        };
    }

    private Object load(JsonNode request) throws Exception {
        long wall = System.nanoTime(), cpu = processNanos();
        engine.load(request.get("path").asText(), JSON.treeToValue(request.get("graph"), Tables.class));
        return Map.of("wall", (System.nanoTime() - wall) / 1e9, "cpu", (processNanos() - cpu) / 1e9, "rss", peakBytes());
    }

    private static long processNanos() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    private static long peakBytes() throws Exception {
        try (var lines = Files.lines(Path.of("/proc/self/status"))) {
            String peak = lines.filter(line -> line.startsWith("VmHWM")).findFirst().orElse("0 kB");
            return Long.parseLong(peak.replaceAll("\\D", "")) * 1024;
        }
    }

    private Engine.Query query(JsonNode id) {
        return queries.get(id.asInt());
    }

    private static Map<String, Object> params(JsonNode node) {
        Map<String, Object> params = JSON.convertValue(node, new TypeReference<>() {});
        params.replaceAll((key, value) -> value instanceof Integer number ? Long.valueOf(number) : value);
        return params;
    }

    private static List<Engine.Call> calls(Engine.Query query, JsonNode params) {
        List<Engine.Call> calls = new ArrayList<>();
        params.forEach(one -> calls.add(query.bind(params(one))));
        return calls;
    }

    /** Runs a query for about so many seconds, at least once: wall and CPU seconds a run (of this thread alone), and the rows. */
    private Object run(JsonNode request) {
        Engine.Call call = query(request.get("id")).bind(params(request.get("params")));
        if (request.path("warm").asBoolean()) {
            for (long end = System.nanoTime() + WARM_NANOS; System.nanoTime() < end;) call.run();
        }
        long least = (long) (request.get("seconds").asDouble() * 1e9), count = 0;
        var threads = ManagementFactory.getThreadMXBean();
        long cpu = threads.getCurrentThreadCpuTime(), wall = System.nanoTime(), passed;
        List<Object> rows;
        do {
            rows = call.run();
            passed = System.nanoTime() - wall;
        } while (++count < 100 && passed < least);
        return Map.of("wall", passed / 1e9 / count, "cpu", (threads.getCurrentThreadCpuTime() - cpu) / 1e9 / count, "rows", rows);
    }

    /** Queries a second that so many threads get answered. */
    private Object throughput(JsonNode request) throws Exception {
        int clients = request.get("clients").asInt();
        double seconds = request.get("seconds").asDouble();
        CyclicBarrier begin = new CyclicBarrier(clients);
        List<FutureTask<Long>> tasks = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int first = client * request.get("params").size() / clients;
            tasks.add(new FutureTask<>(() -> {
                List<Engine.Call> calls = calls(query(request.get("id")), request.get("params"));
                begin.await();
                long done = 0;
                for (long end = System.nanoTime() + (long) (seconds * 1e9); System.nanoTime() < end; done++) {
                    calls.get((int) ((first + done) % calls.size())).run();
                }
                return done;
            }));
        }
        tasks.forEach(task -> new Thread(task).start());
        long done = 0;
        for (FutureTask<Long> task : tasks) done += task.get();
        return Map.of("per_s", done / seconds);
    }

    /** Operations a second that clients get done, each from a stream of its own, and how many were refused. */
    private Object mix(JsonNode request) throws Exception {
        double seconds = request.get("seconds").asDouble();
        CyclicBarrier begin = new CyclicBarrier(request.get("streams").size());
        List<FutureTask<double[]>> tasks = new ArrayList<>();
        for (JsonNode stream : request.get("streams")) {
            List<Engine.Call> calls = new ArrayList<>();
            stream.forEach(one -> calls.add(query(request.get("ids").get(one.get(0).asInt())).bind(params(one.get(1)))));
            tasks.add(new FutureTask<>(() -> {
                begin.await();
                long start = System.nanoTime(), end = start + (long) (seconds * 1e9), done = 0, refused = 0;
                for (Engine.Call call : calls) {
                    try {
                        call.run();
                        done++;
                    } catch (RuntimeException error) {
                        refused++;
                    }
                    if (System.nanoTime() > end) break;
                }
                return new double[] {done / ((System.nanoTime() - start) / 1e9), refused};
            }));
        }
        tasks.forEach(task -> new Thread(task).start());
        double rate = 0, refused = 0;
        for (FutureTask<double[]> task : tasks) {
            rate += task.get()[0];
            refused += task.get()[1];
        }
        return Map.of("per_s", rate, "refused", (long) refused);
    }

    /** Wall µs of short reads asked by turns, while another thread asks the heavy one over and over, if one is given. */
    private Object latencies(JsonNode request) throws Exception {
        AtomicBoolean stop = new AtomicBoolean(request.get("heavy").isNull());
        FutureTask<Long> heavy = new FutureTask<>(() -> {
            List<Engine.Call> calls = stop.get() ? List.of() : calls(query(request.get("heavy").get(0)), request.get("heavy").get(1));
            long done = 0;
            for (; !stop.get(); done++) calls.get((int) (done % calls.size())).run();
            return done;
        });
        List<List<Engine.Call>> reads = new ArrayList<>();
        request.get("short").forEach(one -> reads.add(calls(query(one.get(0)), one.get(1))));
        new Thread(heavy).start();
        List<Double> took = new ArrayList<>();
        long end = System.nanoTime() + (long) (request.get("seconds").asDouble() * 1e9), before = System.nanoTime();
        for (int turn = 0; before < end; turn++) {
            List<Engine.Call> calls = reads.get(turn % reads.size());
            calls.get(turn / reads.size() % calls.size()).run();
            long now = System.nanoTime();
            took.add((now - before) / 1e3);
            before = now;
        }
        stop.set(true);
        return Map.of("took", took, "heavy", heavy.get());
    }
}
