"""The files of deploy/: schemas of others accept them, and the program understands their commands. No container and no node runs here.

A command runs until something is missing: a certificate of the Kafka client, or a node. Then it was no usage error.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import left_out

# Without this variable, tests are left out where a tool is missing.
NO_SKIPS = os.environ.get("MANGROVE_NO_SKIPS")
if NO_SKIPS:
    import kubernetes_validate
    import yaml
else:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="left out: pip install kubernetes-validate")
    yaml = pytest.importorskip("yaml")

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CHART = DEPLOY / "helm" / "mangrove"
SYSTEMD = DEPLOY / "systemd"
UNITS = ["mangrove-node@0.service", "mangrove-backup@0.service", "mangrove-backup@0.timer"]
README = (DEPLOY / "README.md").read_text(encoding="utf-8")
COMMAND = [sys.executable, "-m", "mangrovedb.cli"]
# The oldest Kubernetes that the chart takes, and the newest one that is known.
VERSIONS = ["1.28", kubernetes_validate.latest_version()]
# Beside the values in README.md.
MORE_VALUES = """
imagePullSecrets: [{name: registry}]
storage: {size: 1Ti, className: fast}
resources: {requests: {memory: 8Gi}}
metrics: {port: 7702}
nodeSelector: {disk: ssd}
tolerations: [{key: graph, operator: Exists}]
allowFrom: [{namespaceSelector: {}}]
server: {count: 2, secret: air-server, serviceType: LoadBalancer, resources: {limits: {memory: 2Gi}}}
"""
# Nobody listens there.
NOWHERE = "127.0.0.1:1"
MISSING = r"Kafka takes no|Kafka does not answer|cannot reach the node at 127\.0\.0\.1:1|has no backup of a graph air"


def run(*command, **more):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=120, **more)


def done(*command, **more):
    """What a command writes, once it has ended well."""
    ended = run(*command, **more)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def mangrove(*arguments, **more):
    return run(*COMMAND, *arguments, input="correct horse\n", **more)


@pytest.fixture(scope="module")
def with_kafka(tmp_path_factory):
    if "has no client for Kafka" in mangrove("cluster", "certs", tmp_path_factory.mktemp("certs"), "me").stderr:
        left_out("this build has no client for Kafka (make install CLUSTER=1)")


@pytest.fixture(scope="module")
def helm():
    return shutil.which("helm") or left_out("no helm (go install helm.sh/helm/v3/cmd/helm@latest)")


def blocks(language=""):
    """The code of README.md."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [code for written_in, code in found if written_in == language]


KAFKA_PROPERTIES = next(block for block in blocks() if block.startswith("security.protocol="))
STORE_ENV = next(block for block in blocks() if block.startswith("AWS_ACCESS_KEY_ID="))


def commands(text):
    """The commands `mangrove …` of lines of a shell, as words."""
    for line in text.replace("\\\n", " ").splitlines():
        found = re.search(r"(?:^|\s)(mangrove [a-z].*)", line)
        if found and not line.lstrip().startswith(("#", "-")):
            words = shlex.split(found[1], comments=True)
            yield words[: next((at for at, word in enumerate(words) if word in ("|", "<", ">", "&&")), None)]


def placed(word, root):
    """A word of a command, with its files and its store below `root`, and nobody at its addresses."""
    word = re.sub(r"(kafka|mangrove)://[^/]+", rf"\1://{NOWHERE}", word)
    word = re.sub(r"^s3://", "/s3/", word)
    return re.sub(r"(^|=)/(?=\w)", rf"\1{root}/", word)


def is_local(words):
    """Whether a command needs nobody else."""
    return words[1:3] == ["cluster", "certs"] or words[1] == "users"


def must_be_understood(words, root, **more):
    """Runs a command. It does what it can do alone, or fails because somebody is missing."""
    assert words[0] == "mangrove"
    ended = mangrove(*(placed(word, root) for word in words[1:]), **more)
    what = f"{shlex.join(words)}\n{ended.stdout}{ended.stderr}"
    if is_local(words):
        assert ended.returncode == 0, what
    else:
        assert ended.returncode == 1 and re.search(MISSING, ended.stderr), what


def must_find_its_files(words, root):
    """Checks that what a command names is in the volumes of its container."""
    missing = [word for word in words if word.startswith("/") and not Path(placed(word, root)).exists()]
    assert not missing, shlex.join(words)


def test_the_compose_file_is_valid(tmp_path):
    checked = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    if "No module named" in checked.stderr:
        left_out("pip install check-jsonschema")
    assert checked.returncode == 0, checked.stdout
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((DEPLOY / "compose.yaml").read_text().replace("read_only:", "readonly:"))
    checked = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", wrong)
    assert "readonly" in checked.stdout


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


def mounts(service):
    """The volumes of a service, by where it sees them."""
    return {at: volume for volume, at, *_ in (mount.split(":") for mount in service.get("volumes", []))}


def test_what_the_compose_file_names_is_there(compose):
    used = {volume for service in compose["services"].values() for volume in mounts(service).values()}
    assert used == set(compose["volumes"])
    for service in compose["services"].values():
        assert set(service.get("depends_on", [])) <= set(compose["services"])
        assert set(service.get("secrets", [])) <= set(compose["secrets"])
        # Compose writes secrets from the environment into the container.
        assert not ("secrets" in service and service.get("read_only"))


def variables(text):
    """The variables of a file of the environment."""
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def interpolated(text, environment):
    """Text with the variables of Compose: ${NAME:-value}."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda found: environment.get(found[1]) or found[2], text)


def root_of(name, service, tmp_path):
    """A directory where a service finds its volumes as in its container."""
    root = tmp_path / "roots" / name
    for at, volume in sorted(mounts(service).items()):
        (tmp_path / "volumes" / volume).mkdir(parents=True, exist_ok=True)
        (root / at[1:]).parent.mkdir(parents=True, exist_ok=True)
        (root / at[1:]).symlink_to(tmp_path / "volumes" / volume)
    return root


def test_the_commands_of_the_compose_file_are_understood(with_kafka, compose, tmp_path):
    services = compose["services"]
    roots = {name: root_of(name, service, tmp_path) for name, service in services.items()}
    # The script that makes the certificates runs as it is. Only root could give files away.
    programs, root = tmp_path / "programs", roots["certs"]
    programs.mkdir()
    (programs / "mangrove").write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@"\n')
    (programs / "chown").write_text("#!/bin/sh\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (root / "run" / "secrets").mkdir(parents=True)
    (root / "run" / "secrets" / "password").write_text("correct horse")
    shell, options, script = services["certs"]["command"]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    for _ in range(2):  # it runs again with each `docker compose up`
        done(shell, options, re.sub(r"(?<=[ =])/(?=\w)", f"{root}/", script), env=environment)
    for name in ("kafka-0", "kafka-1", "kafka-2"):
        settings = services[name]["environment"]
        named = [Path(f"{roots[name]}{settings[f'KAFKA_SSL_{store}_LOCATION']}") for store in ("KEYSTORE", "TRUSTSTORE")]
        assert re.findall("BEGIN (.*?)--", named[0].read_text()) == ["PRIVATE KEY", "CERTIFICATE"]
        assert re.findall("BEGIN (.*?)--", named[1].read_text()) == ["CERTIFICATE"]
    properties = (roots["node-0"] / "certs" / "kafka.properties").read_text()
    for path in re.findall(r"\.location=(.*)", properties):
        assert Path(path.replace(str(root), str(roots["node-0"]))).is_file(), "the certificates of the Kafka client"
    assert not (roots["node-0"] / "certs" / "ca.key").exists()
    ours = [name for name, service in services.items() if service["image"] == "mangrove" and name != "certs"]
    assert ours == ["create", "node-0", "node-1", "node-2", "server"]
    for environment in ({}, {"MANGROVE_STORE": "s3://bucket/graphs"}):
        for name in ours:
            words = shlex.split(interpolated(services[name]["command"], environment))
            assert not any("$" in word for word in words)
            must_find_its_files(words, roots[name])
            must_be_understood(words, roots[name])
            assert ("--store" in words) == name.startswith("node-")
            assert services[name].get("env_file", []) == ([{"path": "store.env", "required": False}] if "--store" in words else [])
    wrong = [*shlex.split(services["node-0"]["command"]), "--no-such-option"]
    with pytest.raises(AssertionError, match="unexpected argument '--no-such-option'"):
        must_be_understood(wrong, roots["node-0"])


def test_the_image_has_the_directories_of_the_nodes(compose):
    # A volume that is new has the owner of the directory in the image, and without one root.
    made = re.search(r"install --directory --owner mangrove --mode 700 (.*)", (DEPLOY / "Dockerfile").read_text())[1].split()
    assert set(made) == {at for at in mounts(compose["services"]["node-0"]) if at != "/certs"}


def rendered(helm, version, *values, chart=CHART):
    """The objects of the chart, for a release `air`."""
    options = [option for file in values for option in ("--values", file)]
    text = done(helm, "template", "air", chart, "--namespace", "default", "--kube-version", version, *options)
    return [made for made in yaml.safe_load_all(text) if made]


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """The values of README.md, and more of them: those for backups, too."""
    files = [tmp_path_factory.mktemp("values") / name for name in ("air.yaml", "more.yaml")]
    first, backups = blocks("yaml")
    for file, text in zip(files, (first, MORE_VALUES + backups)):
        file.write_text(text)
    return files


def pod_of(made):
    """The pod that an object makes, with its labels, or None."""
    spec = made["spec"].get("jobTemplate", made)["spec"]
    return spec.get("template")


def of_metrics(objects, is_shown):
    """Prometheus finds the metrics of the nodes if the values say so, and may reach them."""
    for made in objects:
        if made["kind"] == "NetworkPolicy":
            assert ({"port": "metrics"} in made["spec"]["ingress"][0]["ports"]) == is_shown
            continue
        pod = made["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        shown = pod["metadata"].get("annotations", {}).get("prometheus.io/port")
        assert shown == ("7702" if is_shown else None)
        assert ([port["containerPort"] for port in container["ports"]], "0.0.0.0:7702" in container["args"]) == (([7701, 7702], True) if is_shown else ([7701], False))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("count", [1, 2])
def test_the_objects_of_the_chart_are_valid(helm, values, version, count):
    objects = rendered(helm, version, *values[:count])
    for made in objects:
        kubernetes_validate.validate(made, version, strict=True)
    kinds = ["Deployment", "Job", "PodDisruptionBudget", "Service", "Service", "StatefulSet"]
    assert sorted(made["kind"] for made in objects) == sorted(kinds + ["NetworkPolicy", "CronJob"] * (count - 1))
    of_metrics([made for made in objects if made["kind"] in ("StatefulSet", "NetworkPolicy")], is_shown=count == 2)
    pods = {made["kind"]: pod for made in objects if (pod := pod_of(made))}
    for made in objects:
        selector = made["spec"].get("selector") or made["spec"].get("podSelector", {})
        wanted = selector.get("matchLabels", selector).items()
        of = {"PodDisruptionBudget": "StatefulSet", "NetworkPolicy": "StatefulSet"}.get(made["kind"], made["kind"])
        if made["kind"] == "Service":
            of = "Deployment" if made["metadata"]["name"] == "air-server" else "StatefulSet"
            named = {port["name"] for container in pods[of]["spec"]["containers"] for port in container["ports"]}
            assert {port["targetPort"] for port in made["spec"]["ports"]} <= named
        assert wanted <= pods[of]["metadata"]["labels"].items(), made["kind"]


def test_the_chart_asks_for_what_is_missing(helm, values):
    refused = run(helm, "template", "air", CHART, "--kube-version", VERSIONS[0])
    assert refused.returncode != 0 and "kafka" in refused.stderr and "image" in refused.stderr
    refused = run(helm, "template", "air", CHART, "--kube-version", VERSIONS[0], "--values", values[0], "--set", "node=3")
    assert refused.returncode != 0 and "node" in refused.stderr
    for wrong in ("backups.schedule=@daily", "store.place=/backups"):
        refused = run(helm, "template", "air", CHART, "--kube-version", VERSIONS[0], "--values", values[0], "--set", wrong)
        assert refused.returncode != 0 and "/store/place" in refused.stderr
    done(helm, "lint", "--strict", CHART, "--values", values[0], "--kube-version", VERSIONS[1])


@pytest.fixture
def home(with_kafka, tmp_path):
    """A directory with the files that README.md makes."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "kafka.properties").write_text(KAFKA_PROPERTIES)
    (home / "store.env").write_text(STORE_ENV)
    for block in blocks():
        for words in commands(block):
            if is_local(words):
                must_be_understood(words, home, cwd=home)
    (home / "kafka-ca.pem").write_text((home / "certs" / "ca.pem").read_text())
    return home


def secrets(home):
    """The Secrets that README.md makes: their files by name."""
    for name, options in re.findall(r"kubectl create secret generic (\S+) (.*)", README):
        files = {}
        for named in re.findall(r"--from-file=(\S+)", options):
            key, _, path = named.rpartition("=")
            of = home / path
            files |= {file.name: file for file in of.iterdir()} if of.is_dir() else {key or of.name: of}
        yield name, files


def variables_of_secrets(home):
    """The Secrets that README.md makes from files of the environment: their variables by name."""
    found = re.findall(r"kubectl create secret generic (\S+) --from-env-file=(\S+)", README)
    return {name: variables((home / file).read_text()) for name, file in found}


def test_the_commands_of_the_chart_are_understood(helm, values, home, tmp_path):
    known, known_variables = dict(secrets(home)), variables_of_secrets(home)
    pods = [pod["spec"] for made in rendered(helm, VERSIONS[0], *values) if (pod := pod_of(made))]
    assert len(pods) == 4
    for pod in pods:
        (container,) = pod["containers"]
        root = tmp_path / container["name"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        for mount in container["volumeMounts"]:
            directory = root / mount["mountPath"][1:]
            directory.mkdir(parents=True)
            if secret := volumes.get(mount["name"], {}).get("secret"):
                for name, file in known[secret["secretName"]].items():
                    shutil.copy(file, directory / name)
        words = [*container["command"], *container["args"]]
        for variable in container.get("env", []):
            field = {"metadata.name": "air-0", "metadata.labels['apps.kubernetes.io/pod-index']": "0"}
            value = field[variable["valueFrom"]["fieldRef"]["fieldPath"]]
            words = [word.replace(f"$({variable['name']})", value) for word in words]
        assert not any("$" in word for word in words)
        must_find_its_files(words, root)
        environment = [known_variables[source["secretRef"]["name"]] for source in container.get("envFrom", [])]
        assert ("AWS_ACCESS_KEY_ID" in dict(*environment)) == ("s3://backups.example.com/graphs" in words) == (container["name"] == "node")
        must_be_understood(words, root, env=os.environ | dict(*environment))


def test_the_certificates_of_the_readme_are_for_the_hosts_of_the_chart(helm, values):
    (node,) = (made for made in rendered(helm, VERSIONS[0], *values) if made["kind"] == "StatefulSet")
    arguments = node["spec"]["template"]["spec"]["containers"][0]["args"]
    host = arguments[arguments.index("--advertise") + 1].removesuffix(":7701").replace("$(POD_NAME)", "*")
    assert f"mangrove cluster certs certs node '{host}'\n" in README


def test_the_commands_of_the_notes_are_understood(helm, values, home, tmp_path):
    # Helm shows the notes only when it installs the chart.
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    (chart / "templates" / "NOTES.txt").rename(chart / "NOTES.txt")
    notes = '{apiVersion: v1, kind: ConfigMap, metadata: {name: notes}, data: {notes: {{ tpl (.Files.Get "NOTES.txt") . | toJson }}}}'
    (chart / "templates" / "notes.yaml").write_text(notes)
    (text,) = (made["data"]["notes"] for made in rendered(helm, VERSIONS[0], *values, chart=chart) if made["kind"] == "ConfigMap")
    assert "wss://air-server.default.svc:8182/gremlin" in text
    (tmp_path / "tls").symlink_to(home / "certs" / "me")
    found = [*commands(text)]
    assert len(found) == 3
    for words in found:
        must_be_understood(words, tmp_path)


def test_the_commands_of_the_readme_are_understood(home, tmp_path):
    root = tmp_path / "root"
    (root / "etc" / "mangrove").mkdir(parents=True)
    (root / "etc" / "mangrove" / "kafka.properties").write_text(KAFKA_PROPERTIES)
    for name in ("tls", "certs"):
        (root / name).symlink_to(home / "certs" / "me")
    found = [words for block in blocks() for words in commands(block) if not is_local(words)]
    assert len(found) == 19
    for words in found:
        must_be_understood(words, root, cwd=home)
    prose = re.sub(r"^```.*?^```$", "", README, flags=re.DOTALL | re.MULTILINE)
    inline = set(re.findall(r"`(mangrove [^`]+)`", prose))
    assert len(inline) == 5
    for command in inline:
        done(*COMMAND, *command.split()[1:], "--help")


def test_a_further_node_of_the_compose_file_is_understood(with_kafka, compose, tmp_path):
    """README.md says how to make it of node-2."""
    before, after, advertised = "--number 2 --of 3 --replicas 2", "--as node-3", "--advertise node-3:7701"
    assert all(f"`{said}`" in README for said in (before, after, advertised))
    command = interpolated(compose["services"]["node-2"]["command"], {})
    assert command.count(before) == 1
    command = command.replace(before, after).replace("node-2", "node-3")
    assert advertised in command
    (tmp_path / "certs").mkdir()
    (tmp_path / "certs" / "kafka.properties").write_text(KAFKA_PROPERTIES)
    must_be_understood(shlex.split(command), tmp_path)


@pytest.fixture
def units(tmp_path):
    """The units, for node 0 and with a program that is there."""
    for unit in UNITS:
        text = (SYSTEMD / unit.replace("@0", "@")).read_text()
        (tmp_path / unit).write_text(text.replace("/opt/mangrove/bin/mangrove", shutil.which("true")))
    return tmp_path


@pytest.mark.parametrize("unit", UNITS)
def test_the_units_are_valid(units, unit):
    analyze = shutil.which("systemd-analyze") or left_out("no systemd-analyze")
    checked = run(analyze, "verify", units / unit, env={**os.environ, "SYSTEMD_UNIT_PATH": f"{units}:"})
    assert (checked.returncode, checked.stderr) == (0, ""), checked.stderr
    if unit.endswith(".service") and "--offline" in done(analyze, "--help"):
        done(analyze, "security", "--offline=true", "--threshold=20", units / unit)  # 2.0 of 10


def command_of(unit, environment):
    """The words of the command of a unit, for node 0: ${NAME} is one word or a part of it, and $NAME is as many words as it has."""
    (command,) = re.findall(r"^ExecStart=/opt/mangrove/bin/(.*)$", (SYSTEMD / unit).read_text().replace("\\\n", " "), re.MULTILINE)
    command = re.sub(r"\$\{(\w+)\}", lambda found: environment[found[1]], command)
    command = re.sub(r"(?<=\s)\$(\w+)(?=\s|$)", lambda found: environment[found[1]], command)
    return shlex.split(command.replace("%i", "0").replace("%S", "/var/lib"))


@pytest.mark.parametrize("store", [[], ["--store", "s3://backups.example.com/graphs"]])
def test_the_commands_of_the_units_are_understood(with_kafka, tmp_path, store):
    environment = variables((SYSTEMD / "node.env").read_text())
    assert environment["STORE_OPTION"] == ""
    environment["STORE_OPTION"] = " ".join(store)
    assert environment["METRICS_OPTION"] == ""
    metrics = ["--metrics", "127.0.0.1:7702"] if store else []
    environment["METRICS_OPTION"] = " ".join(metrics)
    etc = tmp_path / "etc" / "mangrove"
    etc.mkdir(parents=True)
    (etc / "kafka.properties").write_text(KAFKA_PROPERTIES)
    done(*COMMAND, "cluster", "certs", tmp_path / "certs", "me")
    (etc / "tls").symlink_to(tmp_path / "certs" / "me")
    words = command_of("mangrove-node@.service", environment)
    assert words[words.index("/etc/mangrove/kafka.properties") + 1 :] == store + metrics
    must_be_understood(words, tmp_path)
    must_be_understood(command_of("mangrove-backup@.service", environment), tmp_path)
