//! Names: an accepted name is kept as it was typed, on the command line and in a file.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::random::Random;
use super::{Words, fuzz};
use crate::envtest::Selector;
use crate::names::{
    Domain, Group, Kind, LeaseName, Owner, Plural, ProjectName, Repo, Version, WebhookPath,
    pluralize,
};
use crate::yaml;

/// Names that at least one of the types accepts.
pub(crate) static NAMES: Words = Words::new(|| {
    "a·cronjob·my-operator·op2·x-1·api·tokio·self·example.com·my-org.io·1.2·batch·\
     foo.policy·sea-creatures·core·apps·k8s.io·networking.k8s.io·v1·v12·v1alpha1·v2beta3·\
     v999999999·v2·CronJob·HTTPProxy·Redis·Foo·FooSpec·Bar·Pod·Deployment·Ingress·Option·\
     Api·Self·Policy·Sheep·Index·foos·cronjobs·sheep·/mutate--v1-pod·/a·/a/b.c/d-e·\
     /convert·The authors·Jörg \"J\" & Söhne·https://github.com/a/b·ssh://git@host/a·1.36·\
     1.36.2·v1.36.x·true·null·on·~·0x1f"
        .split('·')
        .collect()
});

/// A name, valid or not.
pub(crate) fn name(random: &mut Random) -> String {
    let name = random.pick(&NAMES);
    if random.one_in(2) {
        name.to_owned()
    } else {
        random.mutate(name, &NAMES)
    }
}

/// Whether the text is such a name; if it is, it is displayed and read from a file unchanged.
fn check<T>(text: &str) -> bool
where
    T: FromStr<Err: Display> + Display + Debug + PartialEq + Serialize + DeserializeOwned,
{
    let name: T = match text.parse() {
        Ok(name) => name,
        Err(error) => {
            assert!(
                error.to_string().contains("; "),
                "says what to type: {error}"
            );
            return false;
        }
    };
    assert_eq!(name.to_string(), text);
    let read: T = serde_yaml::from_str(&yaml::write(&name)).expect("its own text");
    assert_eq!(read, name);
    true
}

#[test]
fn names_that_are_accepted_stay_what_they_are() {
    fuzz("names_that_are", 3000, 1, |random| {
        let text = name(random);
        random.input(&text);
        let accepted = [
            check::<ProjectName>(&text),
            check::<LeaseName>(&text),
            check::<Domain>(&text),
            check::<Group>(&text),
            check::<Version>(&text),
            check::<Kind>(&text),
            check::<Plural>(&text),
            check::<WebhookPath>(&text),
            check::<Owner>(&text),
            check::<Repo>(&text),
        ];
        if let Ok(kind) = text.parse::<Kind>() {
            let plural = pluralize(&kind.lower());
            assert!(plural.parse::<Plural>().is_ok(), "{plural}");
        }
        if let Ok(selector) = text.parse::<Selector>() {
            assert_eq!(selector.to_string().parse(), Ok(selector));
        }
        accepted.contains(&true)
    });
}
