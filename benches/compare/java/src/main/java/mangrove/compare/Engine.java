package mangrove.compare;

import java.util.List;
import java.util.Map;

/** One engine, used as its documentation recommends a Java program should. */
interface Engine {
    /** Makes a database at the path of a graph's CSV files, with what it needs to find a vertex by label and id. */
    void load(String path, Tables graph) throws Exception;

    void open(String path) throws Exception;

    Query prepare(String text) throws Exception;

    void close() throws Exception;

    interface Query {
        /** The query with its parameters bound, which may be run any number of times, by one thread. */
        Call bind(Map<String, Object> params);
    }

    interface Call {
        /** All rows: plain values, lists and maps. */
        List<Object> run();
    }
}
