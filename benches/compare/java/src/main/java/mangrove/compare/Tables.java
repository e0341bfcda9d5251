package mangrove.compare;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A graph's CSV files, as graph.py describes them: fields are never quoted, an empty one is no value. */
record Tables(String folder, List<Vertices> vertices, List<Edges> edges) {
    record Vertices(String label, List<String> also, List<String> indexed, String file, LinkedHashMap<String, String> columns) {}

    record Edges(String source, String label, String target, String file, LinkedHashMap<String, String> columns) {}

    interface Row {
        void take(List<Object> ids, Map<String, Object> properties) throws Exception;
    }

    /** The rows of a vertex table; the first column is the id, and a property too. */
    void read(Vertices table, Row row) throws Exception {
        read(table.file, 0, table.columns, row);
    }

    /** The rows of an edge table; the ids are those of both ends. */
    void read(Edges table, Row row) throws Exception {
        read(table.file, 2, table.columns, row);
    }

    private void read(String file, int ends, Map<String, String> columns, Row row) throws Exception {
        try (BufferedReader lines = Files.newBufferedReader(Path.of(folder, file))) {
            lines.readLine();
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] fields = line.split(",", -1);
                List<Object> ids = new ArrayList<>();
                for (int at = 0; at < Math.max(1, ends); at++) ids.add(Long.valueOf(fields[at]));
                Map<String, Object> properties = new LinkedHashMap<>();
                int at = ends;
                for (Map.Entry<String, String> column : columns.entrySet()) {
                    String field = fields[at++];
                    if (!field.isEmpty()) properties.put(column.getKey(), value(field, column.getValue()));
                }
                row.take(ids, properties);
            }
        }
    }

    private static Object value(String field, String type) throws IOException {
        return switch (type) {
            case "int" -> Long.valueOf(field);
            case "float" -> Double.valueOf(field);
            case "text" -> field;
            default -> throw new IOException("no such type: " + type);
        };
    }
}
