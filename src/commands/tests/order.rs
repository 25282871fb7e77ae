//! Neither the order of commands on different kinds nor anything deleted again leaves a trace; tested
//! on values, with the kinds of kubebuilder's own test projects.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::super::external::tests::CRDS;
use super::Bench;

/// Arguments of `kbr create`, and those of the `kbr delete` that undoes it.
type Step = (&'static str, &'static str);

/// What can be created for each kind, each step on top of those before it. In a project with one group, all
/// kinds are in that group.
const KINDS: &[&[Step]] = &[
    &[
        (
            "api --group crew --version v1 --kind Captain",
            "api --group crew --version v1 --kind Captain",
        ),
        (
            "api --group crew --version v1 --kind Captain --resource=false --controller-name captain-backup",
            "controller --group crew --version v1 --kind Captain --controller-name captain-backup",
        ),
        (
            "webhook --group crew --version v1 --kind Captain --defaulting",
            "webhook --group crew --version v1 --kind Captain --defaulting",
        ),
        (
            "webhook --group crew --version v1 --kind Captain --programmatic-validation",
            "webhook --group crew --version v1 --kind Captain --programmatic-validation",
        ),
    ],
    &[
        (
            "api --group crew --version v1 --kind FirstMate",
            "api --group crew --version v1 --kind FirstMate",
        ),
        (
            "api --group crew --version v2 --kind FirstMate --controller=false",
            "api --group crew --version v2 --kind FirstMate",
        ),
        (
            "webhook --group crew --version v1 --kind FirstMate --conversion --spoke v2",
            "webhook --group crew --version v1 --kind FirstMate --conversion",
        ),
    ],
    &[
        (
            "api --group crew --version v1 --kind Sailor",
            "api --group crew --version v1 --kind Sailor",
        ),
        (
            "webhook --group crew --version v1 --kind Sailor --defaulting --defaulting-path /custom-mutate-sailor \
             --programmatic-validation --validation-path /custom-validate-sailor",
            "webhook --group crew --version v1 --kind Sailor --defaulting --programmatic-validation",
        ),
    ],
    &[
        (
            "api --group crew --version v1 --kind Admiral --plural admirales --namespaced=false",
            "api --group crew --version v1 --kind Admiral",
        ),
        (
            "webhook --group crew --version v1 --kind Admiral --defaulting",
            "webhook --group crew --version v1 --kind Admiral --defaulting",
        ),
    ],
    &[
        (
            "api --group ship --version v1beta1 --kind Frigate",
            "api --group ship --version v1beta1 --kind Frigate",
        ),
        (
            "webhook --group ship --version v1beta1 --kind Frigate --defaulting",
            "webhook --group ship --version v1beta1 --kind Frigate --defaulting",
        ),
    ],
    &[
        (
            "api --group ship --version v1 --kind Destroyer --namespaced=false --controller=false",
            "api --group ship --version v1 --kind Destroyer",
        ),
        (
            "api --group ship --version v1 --kind Destroyer --resource=false",
            "controller --group ship --version v1 --kind Destroyer",
        ),
    ],
    &[
        (
            "api --group ship --version v2alpha1 --kind Cruiser --namespaced=false",
            "api --group ship --version v2alpha1 --kind Cruiser",
        ),
        (
            "webhook --group ship --version v2alpha1 --kind Cruiser --programmatic-validation",
            "webhook --group ship --version v2alpha1 --kind Cruiser --programmatic-validation",
        ),
    ],
    &[(
        "api --group sea-creatures --version v1beta1 --kind Kraken",
        "api --group sea-creatures --version v1beta1 --kind Kraken",
    )],
    &[(
        "api --group sea-creatures --version v1beta2 --kind Leviathan",
        "api --group sea-creatures --version v1beta2 --kind Leviathan",
    )],
    &[(
        "api --group foo.policy --version v1 --kind HealthCheckPolicy",
        "api --group foo.policy --version v1 --kind HealthCheckPolicy",
    )],
    &[(
        "webhook --group core --version v1 --kind Pod --defaulting",
        "webhook --group core --version v1 --kind Pod --defaulting",
    )],
    &[
        (
            "webhook --group apps --version v1 --kind Deployment --defaulting",
            "webhook --group apps --version v1 --kind Deployment --defaulting",
        ),
        (
            "webhook --group apps --version v1 --kind Deployment --programmatic-validation",
            "webhook --group apps --version v1 --kind Deployment --programmatic-validation",
        ),
    ],
    &[
        (
            "api --group cert-manager --version v1 --kind Certificate --external-api-domain io \
             --external-api-path cert_manager::v1::Certificate --external-api-crd crds.yaml",
            "controller --group cert-manager --version v1 --kind Certificate",
        ),
        (
            "webhook --group cert-manager --version v1 --kind Certificate --defaulting",
            "webhook --group cert-manager --version v1 --kind Certificate --defaulting",
        ),
    ],
    &[(
        "api --group cert-manager --version v1 --kind ClusterIssuer --external-api-domain io \
         --external-api-crd crds.yaml",
        "controller --group cert-manager --version v1 --kind ClusterIssuer",
    )],
    &[(
        "api --group crew --version v1 --kind Cook --image cook:1 --image-port 80",
        "api --group crew --version v1 --kind Cook",
    )],
    &[
        (
            "api --group foo --version v1 --kind Bar",
            "api --group foo --version v1 --kind Bar",
        ),
        (
            "webhook --group foo --version v1 --kind Bar --defaulting",
            "webhook --group foo --version v1 --kind Bar --defaulting",
        ),
    ],
    // In a project with one group, it would be the same kind.
    &[
        (
            "api --group fiz --version v1 --kind Bar",
            "api --group fiz --version v1 --kind Bar",
        ),
        (
            "webhook --group fiz --version v1 --kind Bar --programmatic-validation",
            "webhook --group fiz --version v1 --kind Bar --programmatic-validation",
        ),
    ],
];

/// The steps for one kind: `made` of them are created, and then all but `left` are deleted.
#[derive(Debug, Clone)]
struct Life {
    kind: usize,
    made: usize,
    left: usize,
}

impl Life {
    fn any() -> impl Strategy<Value = Self> {
        (
            0..KINDS.len(),
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
        )
            .prop_map(|(kind, made, left)| {
                let made = 1 + made.index(KINDS[kind].len());
                let left = left.index(made + 1);
                Self { kind, made, left }
            })
    }

    fn create(&self, steps: usize) -> impl DoubleEndedIterator<Item = String> {
        let steps = KINDS[self.kind][..steps].iter();
        steps.map(|(create, _)| format!("create {create}"))
    }

    /// All command lines, including deletions.
    fn lines(&self) -> Vec<String> {
        let deleted = KINDS[self.kind][self.left..self.made].iter().rev();
        let deleted = deleted.map(|(_, delete)| format!("delete {delete}"));
        self.create(self.made).chain(deleted).collect()
    }
}

/// A command line for a project with one group, or with several.
fn typed(line: &str, multigroup: bool) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "--group");
    let group = at.map_or("", |at| words[at + 1]);
    match group {
        "core" | "apps" | "cert-manager" => line.to_owned(),
        _ if multigroup => line.to_owned(),
        group => line.replace(&format!("--group {group} "), "--group crew "),
    }
}

/// Some kinds, each once, and the order in which their commands take turns.
fn lives() -> impl Strategy<Value = (bool, Vec<Life>, Vec<usize>)> {
    let lives = prop::collection::vec(Life::any(), 2..6);
    let turns = prop::collection::vec(0..6_usize, 60);
    (any::<bool>(), lives, turns).prop_map(|(multigroup, mut lives, turns)| {
        lives.sort_by_key(|life| life.kind);
        lives.dedup_by_key(|life| life.kind);
        lives.retain(|life| multigroup || life.kind + 1 < KINDS.len());
        (multigroup, lives, turns)
    })
}

/// The command lines of all kinds interleaved; those of each kind stay in order.
fn interleaved(lives: &[Life], turns: &[usize]) -> Vec<String> {
    let lines = lives.iter().map(|life| life.lines().into_iter());
    let mut waiting: Vec<_> = lines.collect();
    let mut all = Vec::new();
    let mut turns = turns.iter().cycle();
    while !waiting.is_empty() {
        let at = turns.next().map_or(0, |turn| turn % waiting.len());
        match waiting[at].next() {
            Some(line) => all.push(line),
            None => drop(waiting.remove(at)),
        }
    }
    all
}

/// New projects with one group and with several, without the files that no command touches.
static EMPTY: LazyLock<[Bench; 2]> = LazyLock::new(|| {
    ["", "--multigroup"].map(|options| {
        let mut bench = Bench::small(options);
        bench.edit("crds.yaml", CRDS);
        bench
    })
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..crate::fuzz::random::properties() })]

    #[test]
    fn every_order_of_commands_on_different_kinds_gives_the_same_tree((multigroup, lives, turns) in lives()) {
        let empty = &EMPTY[usize::from(multigroup)];
        let run = |lines: Vec<String>| {
            lines.iter().fold(empty.clone(), |bench, line| bench.after(&typed(line, multigroup)))
        };
        // Kind by kind, without the steps that are deleted again.
        let plain = run(lives.iter().flat_map(|life| life.create(life.left)).collect());
        let mixed = interleaved(&lives, &turns);
        let there = run(mixed.clone());
        for (path, text) in &there.files {
            prop_assert_eq!(plain.files.get(path), Some(text), "{} after {:?}", path, &mixed);
        }
        prop_assert_eq!(plain.files.len(), there.files.len(), "{:?}", mixed);
    }
}
