//! The `mangrove` command from the user's side: files in, answers out, exit codes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mangrove::{Database, Parameters, QueryOptions};

const MANGROVE: &str = env!("CARGO_BIN_EXE_mangrove");

/// A directory of files for one test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        fs::write(self.path(name), content).unwrap();
        self.path(name)
    }

    fn mangrove(&self, arguments: &[&str]) -> Ran {
        let output = Command::new(MANGROVE).args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).output();
        Ran::of(arguments, output.unwrap())
    }

    /// A database of three people and three edges.
    fn people(&self) {
        self.file("people.csv", ":ID,name,born:int,tags:string[],:LABEL\na,Ada,1815,math;code,person\nb,Bob,1990,,person\nc,\"Cy \"\"C\"\"\",,x,robot\n");
        self.file("knows.csv", ":START_ID,:END_ID,:TYPE,since:int\na,b,knows,1840\na,b,knows,1850\nb,c,likes,\n");
        self.mangrove(&["load", "db.mg", "people.csv", "knows.csv"]).succeeded();
    }

    fn json(&self, db: &str, query: &str) -> Vec<String> {
        let ran = self.mangrove(&["query", db, query, "--format", "json"]).succeeded();
        ran.stdout.lines().map(str::to_owned).collect()
    }
}

struct Ran {
    arguments: String,
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn of(arguments: &[&str], output: Output) -> Self {
        Self {
            arguments: arguments.join(" "),
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    #[track_caller]
    fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "mangrove {}\n{}{}", self.arguments, self.stdout, self.stderr);
        self
    }

    /// The command ended with `code`, and stderr contains all of `words`.
    #[track_caller]
    fn failed(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(code), "mangrove {}\n{}{}", self.arguments, self.stdout, self.stderr);
        for word in words {
            assert!(self.stderr.contains(word), "mangrove {}: {word:?} is not in:\n{}", self.arguments, self.stderr);
        }
        self
    }
}

#[test]
fn files_are_loaded_and_elements_come_out_as_documented_json() {
    let place = Folder::new();
    place.people();
    assert_eq!(
        place.json("db.mg", "g.V('a')"),
        [r#"{"id":"a","label":"person","type":"vertex","properties":{"name":"Ada","born":1815,"tags":["math","code"]}}"#]
    );
    let edges = place.json("db.mg", "g.V('a').outE('knows').order().by('since')");
    assert_eq!(edges.len(), 2);
    let edge: serde_json::Value = serde_json::from_str(&edges[0]).unwrap();
    assert_eq!(edge["type"], "edge");
    assert_eq!(
        (&edge["outV"], &edge["outVLabel"], &edge["inV"], &edge["inVLabel"]),
        (&"a".into(), &"person".into(), &"b".into(), &"person".into())
    );
    assert_eq!(edge["properties"], serde_json::json!({"since": 1840}));
    assert_eq!(place.json("db.mg", "g.V('a').out('likes').count()"), ["0"]);
    assert_eq!(
        place.json("db.mg", "g.V('b').out().path().by('name')"),
        [r#"{"type":"path","objects":["Bob","Cy \"C\""],"labels":[[],[]]}"#]
    );
    assert_eq!(place.json("db.mg", "g.V().groupCount().by(T.label)"), [r#"{"person":2,"robot":1}"#]);
    assert_eq!(place.json("db.mg", "g.V('c').elementMap('name')"), [r#"{"id":"c","label":"robot","name":"Cy \"C\""}"#]);
}

#[test]
fn what_is_exported_loads_again_as_the_same_graph() {
    let place = Folder::new();
    place.people();
    let vertices = "g.V().order().by(T.id)";
    let edges = "g.E().order().by('since').project('label', 'from', 'to', 'values').by(T.label).by(outV().id()).by(inV().id()).by(valueMap())";
    let edges = edges.replace("order().by('since')", "order().by(T.label).by(coalesce(values('since'), constant(0)))");
    for format in ["csv", "graphson", "graphml"] {
        if format == "graphml" {
            // These formats cannot hold several values under a key, and the error says so.
            place.mangrove(&["export", "db.mg", "refused", "--format", format]).failed(1, &["tags"]);
            place.mangrove(&["query", "db.mg", "g.V().properties('tags').drop()"]).succeeded();
        }
        place.mangrove(&["export", "db.mg", format, "--format", format]).succeeded();
        let copy = format!("{format}.mg");
        place.mangrove(&["load", &copy, format]).succeeded();
        assert_eq!(place.json(&copy, vertices), place.json("db.mg", vertices), "{format}");
        assert_eq!(place.json(&copy, &edges), place.json("db.mg", &edges), "{format}");
        place.mangrove(&["check", &copy]).succeeded();
    }
}

#[test]
fn a_bad_row_is_named_and_leaves_the_database_as_it_was() {
    let place = Folder::new();
    place.people();
    place.file("more.csv", "id:ID,age:int,:LABEL\nx,41,person\ny,4l,person\n");
    place.mangrove(&["load", "db.mg", "more.csv"]).failed(1, &["more.csv:3:3", "4l"]);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
    place.mangrove(&["load", "new.mg", "more.csv"]).failed(1, &["more.csv:3:3"]);
    let skipped = place.mangrove(&["load", "db.mg", "more.csv", "--on-error", "skip", "--rejects", "bad.txt"]).succeeded();
    assert!(skipped.stderr.contains("1 row"), "{}", skipped.stderr);
    assert!(fs::read_to_string(place.path("bad.txt")).unwrap().contains("4l"));
    assert_eq!(place.json("db.mg", "g.V().count()"), ["4"]);
}

#[test]
fn exit_codes_tell_a_failed_request_from_a_command_not_understood() {
    let place = Folder::new();
    place.people();
    place.mangrove(&["--version"]).succeeded();
    place.mangrove(&["frobnicate"]).failed(2, &["frobnicate"]);
    place.mangrove(&["query", "db.mg"]).failed(2, &["GREMLIN"]);
    place.mangrove(&["query", "db.mg", "g.V()", "--param", "5=x"]).failed(2, &["5=x"]);
    place.mangrove(&["query", "db.mg", "g.V().owt()"]).failed(1, &["g.V().owt()", "^"]);
    place.mangrove(&["query", "nowhere.mg", "g.V()"]).failed(1, &["nowhere.mg"]);
    place.mangrove(&["query", "nowhere.mg", "g.addV()"]).failed(1, &["nowhere.mg"]);
    assert!(!place.path("nowhere.mg").exists());
    place.mangrove(&["load", "db.mg", "absent.csv"]).failed(1, &["absent.csv"]);
    place.mangrove(&["backup", "db.mg", "db.mg"]).failed(1, &["db.mg"]);
    let timed_out =
        place.mangrove(&["query", "db.mg", "g.V().repeat(both()).times(60).path().count()", "--timeout", "100ms"]);
    timed_out.failed(1, &["100"]);
}

#[test]
fn parameters_are_typed_as_in_json() {
    let place = Folder::new();
    place.people();
    let ran = place.mangrove(&[
        "query",
        "db.mg",
        "g.V().has('born', lt(y)).has('name', n).values('name')",
        "--param",
        "y=1900",
        "--param",
        "n=Ada",
        "--format",
        "json",
    ]);
    assert_eq!(ran.succeeded().stdout, "\"Ada\"\n");
}

#[test]
fn every_format_writes_the_same_rows() {
    let place = Folder::new();
    place.people();
    let query = "g.V().order().by('name').project('name', 'born').by('name').by(coalesce(values('born'), constant(null)))";
    let csv = place.mangrove(&["query", "db.mg", query, "--format", "csv"]).succeeded().stdout;
    assert_eq!(csv, "name,born\nAda,1815\nBob,1990\n\"Cy \"\"C\"\"\",\n");
    let table = place.mangrove(&["query", "db.mg", query]).succeeded().stdout;
    assert!(["name", "born", "Ada", "1990"].iter().all(|word| table.contains(word)), "{table}");
    assert!(!table.contains('\u{1b}'), "colours only on a terminal: {table:?}");
    let output = Command::new(MANGROVE)
        .args(["query", "db.mg", query, "--format", "arrow"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    let mut reader = arrow_ipc::reader::StreamReader::try_new(&output.stdout[..], None).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!((batch.num_rows(), batch.num_columns(), batch.column(1).null_count()), (3, 2, 1));
}

#[test]
fn a_second_writer_learns_who_holds_the_database_and_readers_go_on() {
    let place = Folder::new();
    place.people();
    let database = Database::open(place.path("db.mg")).unwrap();
    let mut transaction = database.transaction().unwrap();
    transaction.query("g.addV('robot')", &Parameters::new(), &QueryOptions::default()).unwrap();
    let holder = std::process::id().to_string();
    place.mangrove(&["query", "db.mg", "g.addV('person')"]).failed(1, &[&holder]);
    place.mangrove(&["load", "db.mg", "people.csv"]).failed(1, &[&holder]);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
    place.mangrove(&["stats", "db.mg"]).succeeded();
    transaction.commit().unwrap();
    assert_eq!(place.json("db.mg", "g.V().count()"), ["4"]);
}

#[test]
fn backups_made_while_a_writer_writes_are_consistent() {
    let place = Folder::new();
    place.people();
    let database = Database::open(place.path("db.mg")).unwrap();
    let (none, options) = (Parameters::new(), QueryOptions::default());
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let mut pairs = 0;
            while !done.load(Ordering::Relaxed) {
                database.query("g.addV('pair').as('a').addV('pair').addE('with').to('a')", &none, &options).unwrap();
                pairs += 1;
            }
            pairs
        });
        for name in ["one.mg", "two.mg", "three.mg"] {
            place.mangrove(&["backup", "db.mg", name]).succeeded();
        }
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() > 3);
    });
    for name in ["one.mg", "two.mg", "three.mg"] {
        place.mangrove(&["check", name]).succeeded();
        let count = |query: &str| place.json(name, query)[0].parse::<u64>().unwrap();
        assert_eq!(count("g.V().hasLabel('pair').count()"), 2 * count("g.E().hasLabel('with').count()"));
    }
    place.mangrove(&["backup", "db.mg", "one.mg"]).failed(1, &["one.mg"]);
    place.mangrove(&["check", "db.mg"]).succeeded();
}

#[test]
fn a_compacted_database_is_asked_changed_and_checked() {
    let place = Folder::new();
    place.people();
    let all = "g.V().order().by(id).elementMap()";
    let before = place.json("db.mg", all);
    place.mangrove(&["compact", "db.mg"]).succeeded();
    assert_eq!(place.json("db.mg", all), before);
    place.mangrove(&["query", "db.mg", "g.V().limit(1).property('seen', true)"]).succeeded();
    assert_ne!(place.json("db.mg", all), before);
    place.mangrove(&["check", "db.mg"]).succeeded();
    let mut files = std::fs::read_dir(place.path("db.mg/hot")).unwrap().map(|entry| entry.unwrap().path());
    let segment = files.find(|path| path.extension().is_some_and(|extension| extension == "seg")).unwrap();
    std::fs::remove_file(&segment).unwrap();
    place.mangrove(&["query", "db.mg", "g.V().count()"]).failed(1, &[&segment.file_name().unwrap().to_string_lossy()]);
}

#[test]
fn a_large_load_is_compressed_unless_told_otherwise() {
    let place = Folder::new();
    std::fs::write(place.path("small.csv"), "id:ID,:LABEL\na,thing\n").unwrap();
    let mut large = String::from("id:ID,text,:LABEL\n");
    (0..9000).for_each(|i| large.push_str(&format!("{i},{},thing\n", "long ".repeat(400))));
    std::fs::write(place.path("large.csv"), large).unwrap();
    let compressed = |db: &str, arguments: &[&str]| {
        place.mangrove(&[&["load", db, "-q"], arguments].concat()).succeeded();
        let stats = place.mangrove(&["stats", db, "--format", "json"]).succeeded().stdout;
        let stats: serde_json::Value = serde_json::from_str(&stats).unwrap();
        let parts = stats["segment"].as_array().unwrap();
        let bytes: u64 = parts.iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert!(bytes <= stats["segmentBytes"].as_u64().unwrap(), "{stats}");
        bytes > 0
    };
    assert!(!compressed("small.mg", &["small.csv"]));
    assert!(compressed("asked.mg", &["small.csv", "--compact", "yes"]));
    assert!(compressed("large.mg", &["large.csv"]));
    assert!(!compressed("tables.mg", &["large.csv", "--compact", "no"]));
    for db in ["asked.mg", "large.mg"] {
        place.mangrove(&["check", db]).succeeded();
    }
    place.mangrove(&["compact", "large.mg", "--encode", "thing.text=searchable:64"]).succeeded();
    let part = "g.V().has('thing', 'text', containing('ng lo')).count()";
    assert_eq!(place.json("large.mg", part), ["9000"]);
    assert!(place.mangrove(&["stats", "large.mg"]).succeeded().stdout.contains("searchable"));
    place.mangrove(&["compact", "large.mg", "--encode", "thing.text=zip"]).failed(2, &["searchable"]);
    place.mangrove(&["compact", "large.mg", "--encode", "thing.txt=plain"]).failed(1, &["text"]);
    place.mangrove(&["load", "found.mg", "-q", "large.csv", "--searchable", "thing.text"]).succeeded();
    assert_eq!(place.json("found.mg", part), ["9000"]);
    assert!(place.mangrove(&["stats", "found.mg"]).succeeded().stdout.contains("searchable"));
    let all = ["load", "all.mg", "-q", "large.csv", "--searchable", "all", "--index", "thing.text"];
    place.mangrove(&all).succeeded();
    assert_eq!(place.json("all.mg", part), ["9000"]);
    let stats = place.mangrove(&["stats", "all.mg"]).succeeded().stdout;
    assert!(stats.contains("encoded as searchable") && stats.contains("(index on text)"), "{stats}");
    place.mangrove(&["load", "none.mg", "-q", "large.csv", "--index", "text"]).failed(1, &["LABEL.KEY"]);
    place.mangrove(&["load", "none.mg", "-q", "large.csv", "--index", "thing.txt"]).failed(1, &["text"]);
    place.mangrove(&["compact", "large.mg", "--encode", "thing.text=auto"]).succeeded();
    let table = place.mangrove(&["stats", "large.mg"]).succeeded().stdout;
    let has = |words: [&str; 2]| table.lines().any(|line| words.iter().all(|word| line.contains(word)));
    assert!(has([" text ", "dictionary"]) && has(["(elements by id)", "vertex"]), "{table}");
}

#[test]
fn the_shell_runs_what_is_piped_in() {
    let place = Folder::new();
    place.people();
    let script = ":format csv\ng.V('a')\n  .values('name')\n:schema\n:quit\ng.V().drop()\n";
    let ran = shell(&place, script).succeeded();
    assert!(ran.stdout.starts_with("value\nAda\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("since"), "{}", ran.stdout);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
    shell(&place, "g.V(\n'a').nmae()\ng.V().drop()\n").failed(1, &["nmae"]);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
}

#[test]
fn the_shell_writes_beside_readers_and_only_when_it_may() {
    let place = Folder::new();
    place.people();
    let ran = shell(&place, "g.addV('robot')\ng.V().hasLabel('robot').count()\n:index robot name\n").succeeded();
    assert!(ran.stdout.contains('2') && ran.stderr.contains("created the index"), "{}{}", ran.stdout, ran.stderr);
    let ran = shell(&place, ":index --routed person name\n:schema\n").succeeded();
    assert!(ran.stdout.contains("routed") && ran.stderr.contains("created the index"), "{}{}", ran.stdout, ran.stderr);
    let _writer = Database::open(place.path("db.mg")).unwrap();
    shell(&place, "g.V().count()\n").succeeded();
    shell(&place, "g.V().count()\ng.addV('robot')").failed(1, &[&std::process::id().to_string()]);
}

#[test]
fn the_shell_has_transactions_variables_and_profiles() {
    let place = Folder::new();
    place.people();
    let ran = shell(
        &place,
        ":format csv\n:begin\ng.addV('robot').property(id, 'r1')\ng.V('r1').count()\n:rollback\ng.V('r1').count()\n",
    )
    .succeeded();
    assert!(ran.stdout.contains("value\n1\n") && ran.stdout.contains("value\n0\n"), "{}", ran.stdout);
    let script = ":begin\ng.addV('gadget').property('volts', 5)\n:schema\n:stats\n:explain g.V().hasLabel('gadget')\n:rollback\n:stats\n";
    let ran = shell(&place, script).succeeded();
    let (within, after) = ran.stdout.rsplit_once("SCAN of 1 vertex ").unwrap();
    assert!(within.contains("┆ volts") && within.contains("│ vertex ┆ gadget ┆     1 │"), "{within}");
    let after = after.split_once('\n').unwrap().1;
    assert!(after.contains("on disk") && !after.contains("gadget"), "{after}");
    shell(&place, ":begin\ng.addV('robot').property(id, 'r1')\n:commit\n").succeeded();
    let ran = shell(
        &place,
        ":format csv\nx = g.V('r1').next()\nn = 5\neveryone = g.V().hasLabel('person')\ng.V(x).property('n', n)\ng.V(x).values('n')\ng.inject(everyone).unfold().count()",
    );
    let ran = ran.succeeded();
    assert!(ran.stdout.contains("value\n5\n"), "{}", ran.stdout);
    assert!(
        ran.stderr.contains("x is a vertex")
            && ran.stderr.contains("n is 5")
            && ran.stderr.contains("everyone is a list of"),
        "{}",
        ran.stderr
    );
    let ran = shell(&place, ":profile g.V().count()\n:timing on\nhelp\nexit\ng.V(").succeeded();
    assert!(
        ran.stdout.contains("CountScan") && ran.stdout.contains(":rollback") && ran.stderr.contains("times are shown"),
        "{}",
        ran.stdout
    );
    shell(&place, ":begin\ng.addV('robot').property(id, 'r2').fail()\n").failed(1, &["rolled back"]);
    shell(&place, ":commit\n").failed(1, &["no transaction"]);
    shell(&place, ":begin\n:begin\n").failed(1, &["a transaction is open already"]);
    shell(&place, "all = g.V()\n").failed(1, &["a variable cannot be called `all`"]);
    shell(&place, "y = g.V('nobody').next()\n").failed(1, &["no first one"]);
    shell(&place, ":begin\ng.addV('robot').property(id, 'r3')\nquit\n").succeeded();
    shell(&place, ":begin\ng.addV('robot').property(id, 'r3')\n").failed(1, &["rolled back", "ended before :commit"]);
    shell(&place, "g.tx().rollback()\n").failed(1, &[":begin, :commit and :rollback"]);
    let ran = shell(&place, ":format csv\nn = 41\nn\nschema\nexit()\ng.V(").succeeded();
    assert!(ran.stdout.contains("value\n41\n") && ran.stdout.contains("property"), "{}", ran.stdout);
    let ran = shell(&place, ":format csv\ng.V('r2', 'r3').count()\n").succeeded();
    assert!(ran.stdout.contains("value\n0\n"), "{}", ran.stdout);
}

fn shell(place: &Folder, script: &str) -> Ran {
    use std::io::Write;
    let mut command = Command::new(MANGROVE);
    command.args(["shell", "db.mg"]).current_dir(place.0.path());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    Ran::of(&["shell", "db.mg"], child.wait_with_output().unwrap())
}

#[test]
fn the_queries_the_demo_suggests_have_answers() {
    let place = Folder::new();
    let suggested = place.mangrove(&["demo", "d.mg"]).succeeded().stdout;
    let queries: Vec<&str> = suggested.lines().filter_map(|line| line.strip_prefix("mangrove query d.mg \"")).collect();
    assert!(queries.len() >= 5, "{suggested}");
    let documented = r#"{"id":"i2","label":"island","type":"vertex","properties":{"id":"i2","name":"Brisa","area_km2":4.2,"population":310,"harbours":["Brisa"]}}"#;
    assert_eq!(place.json("d.mg", "g.V().has('island', 'name', 'Brisa')"), [documented]);
    let stats: serde_json::Value =
        serde_json::from_str(&place.mangrove(&["stats", "d.mg", "--format", "json"]).succeeded().stdout).unwrap();
    assert_eq!((&stats["vertices"], &stats["edgeLabels"]["ferry"]["count"]), (&29.into(), &18.into()));
    for query in queries {
        assert!(!place.json("d.mg", query.trim_end_matches('"')).is_empty(), "{query}");
    }
    place.mangrove(&["check", "d.mg"]).succeeded();
    place.mangrove(&["demo", "d.mg"]).failed(1, &["d.mg"]);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_during_a_load_rolls_it_back() {
    let place = Folder::new();
    place.people();
    big_file(&place.path("big.csv"));
    let mut command = Command::new(MANGROVE);
    command.args(["load", "db.mg", "big.csv"]).current_dir(place.0.path()).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while !handles_interrupts(child.id()) {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(20));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    Ran::of(&["load"], child.wait_with_output().unwrap()).failed(130, &["interrupted", "rolled back"]);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
    place.mangrove(&["check", "db.mg"]).succeeded();
}

/// Whether the process handles Ctrl-C already. While it still starts, Ctrl-C would kill it.
#[cfg(target_os = "linux")]
fn handles_interrupts(process: u32) -> bool {
    const INTERRUPT: u64 = 1 << 1;
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & INTERRUPT != 0
}

/// More data than half a second can load.
#[cfg(target_os = "linux")]
fn big_file(path: &Path) {
    let mut content = String::from("id:ID,name,:LABEL\n");
    (0..3_000_000).for_each(|i| content.push_str(&format!("{i},name {i},thing\n")));
    fs::write(path, content).unwrap();
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_command_quietly() {
    let place = Folder::new();
    place.people();
    let line = format!("{MANGROVE} query db.mg 'g.V().repeat(both()).times(18).emit()' --format json | head -n 1");
    let output = Command::new("sh").args(["-c", &line]).current_dir(place.0.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
}

#[test]
fn results_that_take_too_much_memory_are_refused() {
    let place = Folder::new();
    place.people();
    for format in ["table", "csv", "arrow"] {
        let query = "g.V().repeat(both()).times(40)";
        let ran = place.mangrove(&["query", "db.mg", query, "--memory", "8", "--format", format]);
        ran.failed(1, &["query's memory budget of 8 MB"]);
    }
    assert_eq!(place.json("db.mg", "g.V().repeat(both()).times(10).limit(3).count()"), ["3"]);
}

#[test]
fn a_load_that_fails_leaves_no_new_database_in_the_way() {
    let place = Folder::new();
    let a = place.file("A.csv", "id,x\n1,2\n");
    place.file("B.csv", "id,y\n1,3\n");
    let refused = place.mangrove(&["load", "db.mg", "--nodes", "A=A.csv", "--nodes", "B=B.csv"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("--id-space label"), "{}", refused.stderr);
    assert!(!place.path("db.mg").exists());
    place.mangrove(&["load", "db.mg", "--id-space", "label", "--nodes", "A=A.csv", "--nodes", "B=B.csv"]).succeeded();
    // An existing database stays.
    fs::write(&a, "id,x\n5\n").unwrap();
    assert_eq!(place.mangrove(&["load", "db.mg", "--nodes", "A=A.csv"]).code, Some(1));
    assert_eq!(place.json("db.mg", "g.V().count()"), ["2"]);
}

#[test]
fn an_export_is_csv_if_nothing_is_said() {
    let place = Folder::new();
    place.people();
    place.mangrove(&["export", "db.mg", "out"]).succeeded();
    let names = fs::read_dir(place.path("out")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let (tables, others): (Vec<String>, Vec<String>) = names.partition(|name| name.ends_with(".csv"));
    assert!(!tables.is_empty() && others == ["mangrove.yaml"], "{tables:?} {others:?}");
}

#[test]
fn plans_and_profiles_are_tables_or_json() {
    let place = Folder::new();
    place.people();
    let plan = place.mangrove(&["query", "db.mg", "g.V().hasLabel('person').count()", "--explain"]).succeeded();
    assert!(plan.stdout.contains("count-scan") && plan.stdout.contains("stored count of "), "{}", plan.stdout);
    let plan = place.mangrove(&["query", "db.mg", "g.V().has('person', 'name', 'x')", "--explain"]).succeeded();
    assert!(plan.stdout.contains("create one with `:index person name` in the shell"), "{}", plan.stdout);
    let refused = place.mangrove(&["query", "db.mg", "g.addV('person')", "--read-only"]);
    assert!(refused.code == Some(1) && refused.stderr.contains("--read-only forbids that"), "{}", refused.stderr);
    place.mangrove(&["query", "db.mg", "g.V().count()", "--read-only"]).succeeded();
    let profile = place.mangrove(&["query", "db.mg", "g.V().out()", "--profile", "--format", "json"]).succeeded();
    let profile: serde_json::Value = serde_json::from_str(&profile.stdout).unwrap();
    assert_eq!(profile["results"], 3);
    assert_eq!(profile["steps"][1]["rows"], 3);
    let dropped = place.mangrove(&["query", "db.mg", "g.V().drop().explain()"]);
    assert_eq!(dropped.code, Some(1));
    assert!(dropped.stderr.contains("it was not run"), "{}", dropped.stderr);
    assert_eq!(place.json("db.mg", "g.V().count()"), ["3"]);
}
