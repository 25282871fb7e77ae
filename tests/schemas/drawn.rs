//! Random types: a real API server accepts the CRDs that kbr generates for them, stores the objects that it
//! accepts and returns them unchanged, and Rust can read them.
//!
//! Each type is drawn from a seed and built of real types with holes, see [`tree`]; it is described by what
//! kube and schemars derive for those. Every run tries a few, other ones for each commit; `tests/tools/fuzz` tries
//! thousands.

mod objects;
mod refused;
mod shapes;
mod tree;

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use kube::{CustomResource, CustomResourceExt};
use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::api_server::{Answer, api_server};
use crate::support::random::{self, Random};
use crate::support::{Run, Sandbox};
use refused::Refused;
use tree::{Hole, Node, Shape, Wanted};

/// How many types one `kbr manifests` handles.
const BATCH: usize = 25;

/// The kind of all drawn types: its spec is the drawn type.
#[derive(Clone, CustomResource, Debug, Deserialize, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Drawn", namespaced)]
#[serde(transparent)]
struct DrawnSpec(Hole<0>);

impl JsonSchema for DrawnSpec {
    fn inline_schema() -> bool {
        Hole::<0>::inline_schema()
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "DrawnSpec".into()
    }

    fn schema_id() -> std::borrow::Cow<'static, str> {
        Hole::<0>::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Hole::<0>::json_schema(generator)
    }
}

static ROOT: Shape = Shape::of::<DrawnSpec>(&[Wanted::Any]);

/// Draws a type that fills a hole, nested no deeper than `depth`.
fn draw(random: &mut Random, wanted: Wanted, depth: usize) -> Rc<Node> {
    loop {
        let from = match (wanted, random.below(10)) {
            (Wanted::Flat, _) | (_, 0..=2) if depth > 0 => shapes::STRUCTS,
            (Wanted::Flat, _) => shapes::STRUCTS,
            (_, 3..=5) if depth > 0 => shapes::CONTAINERS,
            (_, 6) => shapes::OF_KUBERNETES,
            (_, 7) => shapes::WITHOUT_DEFAULT,
            _ => shapes::SCALARS,
        };
        let shape = &from[random.below(from.len())];
        let is_fit = match wanted {
            Wanted::Any => true,
            Wanted::Default => shape.default.is_some(),
            Wanted::Flat => shape.is_flat,
        };
        if is_fit {
            let node = fill(random, shape, wanted, depth);
            if wanted != Wanted::Default || node.has_default() {
                return node;
            }
        }
    }
}

fn fill(random: &mut Random, shape: &'static Shape, wanted: Wanted, depth: usize) -> Rc<Node> {
    let holes = shape.holes.iter().map(|hole| match (hole, wanted) {
        (Wanted::Any, Wanted::Default) if !shape.is_empty_by_default => Wanted::Default,
        _ => *hole,
    });
    let holes: Vec<Wanted> = holes.collect();
    let deeper = depth.saturating_sub(1);
    Rc::new(Node {
        shape,
        children: holes
            .iter()
            .map(|hole| draw(random, *hole, deeper))
            .collect(),
        numbers: shape
            .numbers
            .map(|most| u16::try_from(random.below(most.into())).unwrap_or_default()),
    })
}

/// Draws a type whose spec is a struct.
fn drawn(random: &mut Random) -> Rc<Node> {
    let shape = &shapes::STRUCTS[random.below(shapes::STRUCTS.len())];
    let depth = 1 + random.below(4);
    root(fill(random, shape, Wanted::Any, depth))
}

fn root(spec: Rc<Node>) -> Rc<Node> {
    Rc::new(Node {
        shape: &ROOT,
        children: vec![spec],
        numbers: [0, 0],
    })
}

/// What crdgen prints for a type, as a kind of its own.
fn described(node: &Rc<Node>, at: usize) -> Value {
    let schema = |contract| {
        let mut settings = SchemaSettings::draft2020_12();
        settings.meta_schema = None;
        settings.contract = contract;
        json!(settings.into_generator().into_root_schema_for::<Drawn>())
    };
    tree::inside(node, || {
        let mut entry = json!({
            "type": format!("v1::Drawn{at}"),
            "serialize": schema(Contract::Serialize),
            "deserialize": schema(Contract::Deserialize),
        });
        match catch_unwind(AssertUnwindSafe(Drawn::crd)) {
            Ok(mut crd) => {
                crd.spec.versions[0].schema = None;
                crd.spec.names.kind = format!("Drawn{at}");
                crd.spec.names.plural = format!("drawn{at}s");
                crd.spec.names.singular = Some(format!("drawn{at}"));
                crd.metadata.name = Some(format!("drawn{at}s.example.com"));
                entry["crd"] = json!(crd);
            }
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                entry["panic"] = json!(text.unwrap_or_default());
            }
        }
        entry
    })
}

/// A project with as many kinds as a batch has types, and a fake cargo that prints them.
struct Project(Sandbox);

impl Project {
    fn new() -> Self {
        let sandbox = Sandbox::with_project();
        for at in 0..BATCH {
            let line = format!("create api --kind Drawn{at} --version v1 --controller=false");
            sandbox.kbr(&line).success();
        }
        sandbox.write("bin/cargo", "#!/bin/sh\ncat \"${0%/*}/printed.json\"\n");
        let cargo = sandbox.path().join("bin/cargo");
        fs::set_permissions(cargo, fs::Permissions::from_mode(0o755)).expect("a mode");
        Self(sandbox)
    }

    fn manifests(&self, types: &[Rc<Node>]) -> Run {
        let entries = types.iter().enumerate();
        let entries: Vec<Value> = entries.map(|(at, node)| described(node, at)).collect();
        self.0
            .write("bin/printed.json", &json!(entries).to_string());
        let path = env::var("PATH").unwrap_or_default();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kbr"));
        command.arg("manifests").current_dir(self.0.path());
        command.env(
            "PATH",
            format!("{}:{path}", self.0.path().join("bin").display()),
        );
        command
            .stdin(Stdio::null())
            .output()
            .expect("kbr runs")
            .into()
    }

    /// The CRD of each type, in a group that no other batch has, or why kbr refuses the type.
    fn crds(&self, types: &[Rc<Node>], group: &str) -> Vec<Result<Value, String>> {
        let none = root(refused::plain());
        let of = |at: usize| types.get(at).unwrap_or(&none).clone();
        let run = self.manifests(&(0..BATCH).map(of).collect::<Vec<_>>());
        let refused = |at: usize| {
            let lines = run.stderr.lines();
            let of_it = lines.filter(|line| line.contains(&format!("`v1::Drawn{at}`")));
            let lines: Vec<&str> = of_it.collect();
            (run.code() != Some(0) && !lines.is_empty()).then(|| lines.join("\n"))
        };
        if run.code() != Some(0) {
            let others = (0..BATCH).map(|at| refused(at).map_or_else(|| of(at), |_| none.clone()));
            self.manifests(&others.collect::<Vec<_>>()).success();
        }
        let crd = |at| match refused(at) {
            Some(text) => Err(text),
            None => Ok(self.crd(at, group)),
        };
        (0..types.len()).map(crd).collect()
    }

    fn crd(&self, at: usize, group: &str) -> Value {
        let path = format!("config/crd/bases/example.com_drawn{at}s.yaml");
        let mut crd: Value = serde_saphyr::from_str(&self.0.read(&path)).expect("YAML");
        crd["metadata"]["name"] = json!(format!("drawn{at}s.{group}"));
        crd["spec"]["group"] = json!(group);
        crd
    }
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Makes the API server serve a CRD, and returns what is wrong with the CRD.
fn install(crd: &Value) -> Result<(), String> {
    let answer = api_server().request("POST", &format!("{CRDS}?fieldValidation=Strict"), crd);
    match answer.status == 201 && answer.warnings.is_empty() {
        true => Ok(()),
        false => Err(format!("{answer}")),
    }
}

fn wait_until_served(crd: &Value) -> Result<(), String> {
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let start = Instant::now();
    loop {
        let conditions = api_server()
            .request("GET", &format!("{CRDS}/{name}"), &Value::Null)
            .body;
        let conditions = conditions["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is = |kind: &str| {
            conditions
                .iter()
                .any(|one| one["type"] == kind && one["status"] == "True")
        };
        if is("NonStructuralSchema") {
            return Err(json!(conditions).to_string());
        }
        if is("Established") {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(30) {
            return Err(format!("it is not established: {conditions:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The objects of one type.
struct Objects<'a> {
    node: &'a Rc<Node>,
    schema: &'a Value,
    path: String,
    kind: Value,
    api_version: String,
    taken: usize,
}

impl Objects<'_> {
    /// Creates an object, and returns the response of the API server, or what is wrong.
    fn attempt(&mut self, spec: &Value) -> Result<Answer, String> {
        let name = format!("one-{}", self.taken);
        let object = json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": { "name": name }, "spec": spec,
        });
        let created = api_server().request("POST", &self.path, &object);
        match created.status {
            201 => {}
            400 | 422 => return Ok(created),
            _ => return Err(format!("{created}")),
        }
        self.taken += 1;
        let expected = objects::stored(self.schema, spec);
        let path = format!("{}/{name}", self.path);
        let stored = api_server().request("GET", &path, &Value::Null).body;
        if !objects::is_same(&stored["spec"], &expected) {
            return Err(format!(
                "stored differently: {}\nexpected: {expected}",
                stored["spec"]
            ));
        }
        let applied = self.stays(&path, &stored)?;
        self.is_read(&path, applied)?;
        Ok(created)
    }

    /// Writing an object as it was read changes nothing.
    fn stays(&self, path: &str, stored: &Value) -> Result<Value, String> {
        let replaced = api_server().request("PUT", path, stored);
        if (replaced.status, &replaced.body) != (200, stored) {
            return Err(format!(
                "replaced with itself: {stored}\nresponse: {replaced}"
            ));
        }
        let applied = json!({
            "apiVersion": self.api_version, "kind": self.kind,
            "metadata": { "name": stored["metadata"]["name"] }, "spec": stored["spec"],
        });
        let path = format!("{path}?fieldManager=drawn&force=true");
        let answer = api_server().request("APPLY", &path, &applied);
        let is_same = answer.body["spec"] == stored["spec"]
            && answer.body["metadata"]["generation"] == stored["metadata"]["generation"];
        match answer.status == 200 && is_same {
            true => Ok(answer.body),
            false => Err(format!("applied unchanged: {applied}\nresponse: {answer}")),
        }
    }

    /// Rust reads the object, the API server accepts what Rust writes, and Rust reads that as the same.
    fn is_read(&self, path: &str, mut stored: Value) -> Result<(), String> {
        let read = |spec: &Value| self.node.read(spec.clone());
        let spec = stored["spec"].take();
        let written = read(&spec).map_err(|error| format!("Rust cannot read {spec}: {error}"))?;
        stored["spec"] = written.clone();
        let answer = api_server().request("PUT", path, &stored);
        if answer.status != 200 {
            return Err(format!(
                "Rust read {spec}\nand wrote {written}\nresponse: {answer}"
            ));
        }
        let spec = &answer.body["spec"];
        let again = read(spec).map_err(|error| format!("Rust cannot read {spec}: {error}"))?;
        match objects::is_same(&again, &written) {
            true => Ok(()),
            false => Err(format!("Rust wrote {written}\nand read {spec}\nas {again}")),
        }
    }
}

/// Tries objects of one type, and returns how many were accepted.
fn try_objects(node: &Rc<Node>, crd: &Value, random: &mut Random) -> Result<usize, String> {
    let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
    let (group, plural) = (&spec["group"], &names["plural"]);
    let api_version = format!("{}/v1", group.as_str().unwrap_or_default());
    let plural = plural.as_str().unwrap_or_default();
    let mut objects = Objects {
        node,
        schema: &spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"],
        path: format!("/apis/{api_version}/namespaces/default/{plural}"),
        kind: names["kind"].clone(),
        api_version,
        taken: 0,
    };
    for _ in 0..2 {
        let spec = objects::valid(objects.schema, random);
        let answer = objects.attempt(&spec)?;
        if answer.status != 201 {
            return Err(format!("refused: {spec}\nresponse: {answer}"));
        }
        for _ in 0..3 {
            let mut spec = spec.clone();
            objects::spoil(&mut spec, random);
            objects.attempt(&spec)?;
        }
    }
    Ok(objects.taken)
}

#[test]
fn generated_crds_are_accepted_and_their_objects_are_read_back() {
    // An API server handles few types a second, so this tries a hundredth of what the other tests try.
    // One had a bound that the API server reads in another way than Rust, and one an unknown field in the metadata of
    // an object in a field.
    let fixed = [142_462_314, 4_276_485_094];
    let drawn_now = random::seeds(24, 100);
    let first = drawn_now.start;
    let seeds: Vec<u64> = fixed.into_iter().chain(drawn_now).collect();
    let cases = seeds.len();
    let project = Project::new();
    let (mut wrong, mut taken) = (Vec::new(), 0);
    for (batch, seeds) in seeds.chunks(BATCH).enumerate() {
        let mut randoms: Vec<Random> = seeds.iter().map(|seed| Random::new(*seed)).collect();
        let types: Vec<Rc<Node>> = randoms.iter_mut().map(drawn).collect();
        let crds = project.crds(&types, &format!("drawn{batch}.example.com"));
        let installed: Vec<_> = crds.iter().map(|crd| crd.as_ref().map(install)).collect();
        for (at, installed) in installed.into_iter().enumerate() {
            let tried = match (&crds[at], installed) {
                (Ok(crd), Ok(Ok(()))) => wait_until_served(crd)
                    .and_then(|()| try_objects(&types[at], crd, &mut randoms[at])),
                (_, Ok(Err(refused))) => Err(refused),
                (Err(said), _) | (_, Err(said)) => is_refused_for(said, &types[at]).map(|()| 0),
            };
            match tried {
                Ok(count) => taken += count,
                Err(problem) => {
                    let (seed, text) = (seeds[at], types[at].text());
                    let again = random::again(seed, "drawn::generated");
                    wrong.push(format!("{text}\n{problem}\n{again}"));
                }
            }
        }
        for crd in crds.iter().flatten() {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            api_server().request("DELETE", &format!("{CRDS}/{name}"), &Value::Null);
        }
    }
    wrong.sort_by_key(String::len);
    random::say(&format!(
        "drawn: {cases} types from seed {first}, {taken} objects taken\n"
    ));
    assert!(
        wrong.is_empty(),
        "{} of {cases}:\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

/// How the API server would respond to a type as kube describes it; kube panics for some.
fn without_kbr(node: &Rc<Node>) -> Option<Answer> {
    let crd = tree::inside(node, || catch_unwind(AssertUnwindSafe(Drawn::crd)));
    let path = format!("{CRDS}?dryRun=All");
    let answer = api_server().request("POST", &path, &json!(crd.ok()?));
    assert!([201, 422].contains(&answer.status), "{answer}");
    Some(answer)
}

/// kbr may refuse a drawn type only for its validation rules inside lists and maps, and then the API server
/// must refuse the type too.
fn is_refused_for(said: &str, node: &Rc<Node>) -> Result<(), String> {
    let answer = without_kbr(node);
    let answer = answer.map(|answer| answer.to_string()).unwrap_or_default();
    let is_of_rule = |line: &str| line.contains(" has the rule `");
    match said.lines().all(is_of_rule) && answer.contains(".x-kubernetes-validations") {
        true => Ok(()),
        false => Err(format!("kbr refuses it: {said}\nthe API server: {answer}")),
    }
}

#[test]
fn an_api_server_refuses_what_kbr_refuses() {
    // Their draws once had the type `Tree` in a `Box`, and a map without entries.
    let seeds: Vec<u64> = [123_456_796, 1_522_320_071]
        .into_iter()
        .chain(random::seeds(49, 100))
        .collect();
    let project = Project::new();
    for seeds in seeds.chunks(BATCH) {
        let drawn = seeds.iter().map(|seed| {
            let at = usize::try_from(*seed).unwrap_or_default();
            refused::draw(&mut Random::new(*seed), at)
        });
        let drawn: Vec<Refused> = drawn.collect();
        let all: Vec<Rc<Node>> = (0..BATCH)
            .map(|at| root(drawn[at % drawn.len()].wrong.clone()))
            .collect();
        let stderr = project.manifests(&all).failure().stderr;
        for (
            at,
            Refused {
                wrong,
                right,
                expected,
            },
        ) in drawn.into_iter().enumerate()
        {
            let again = random::again(seeds[at], "drawn::an_api_server");
            let again = format!("{}\n{again}", wrong.text());
            let expected = format!("`v1::Drawn{at}`: {expected}");
            // schemars numbers a second type of that name: the same one in a `Box`.
            let boxed = expected.replace(
                ".children[]` contains itself (`Tree`)",
                ".children[].children[]` contains itself (`Tree2`)",
            );
            let is_said = stderr.contains(&expected) || stderr.contains(&boxed);
            assert!(is_said, "{again}\n{expected}\n{stderr}");
            let is_taken = |node| {
                let answer = without_kbr(&root(node));
                answer.is_some_and(|answer| answer.status == 201)
            };
            assert!(is_taken(right), "{again}\nthe corrected type is refused");
            assert!(!is_taken(wrong), "{again}\nthe API server accepts it");
        }
    }
}
