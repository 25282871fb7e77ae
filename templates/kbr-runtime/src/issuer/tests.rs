// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The flags, and where the CA is written. The rest is tested with an API server.

use super::*;
use crate::election::tests::MISSING;
use crate::logging::tests::logged;
use crate::webhook::tests::webhooks;

fn flags() -> Flags {
    Flags {
        webhook_cert_secret: Some("own-webhook-server-cert".to_owned()),
        webhook_service: Some("own-webhook-service".to_owned()),
        mutating_webhook_configuration: vec!["own-mutating".to_owned()],
        validating_webhook_configuration: vec!["own-validating".to_owned()],
        ..Flags::default()
    }
}

fn own_of(flags: &Flags, webhooks: &Webhooks) -> Result<Option<Issuer>, String> {
    let metrics = Metrics::new();
    let config = kube::Config::new("http://localhost".parse().unwrap());
    let server = ApiServer::with_deadline(config, Duration::from_secs(1));
    let own = Issuer::of(flags, webhooks, &metrics, &server, "own-system");
    own.map_err(|error| error.to_string())
}

fn own(flags: &Flags) -> Result<Option<Issuer>, String> {
    own_of(flags, &webhooks())
}

#[tokio::test]
async fn the_flags_name_everything() {
    assert!(own(&Flags::default()).unwrap().is_none());

    let own = own(&flags()).unwrap().unwrap();

    assert_eq!(own.rules.name, "own-webhook-service.own-system.svc");
    let targets = own.targets.iter();
    let targets: Vec<_> = targets
        .map(|(kind, name)| (&*kind.plural, &**name))
        .collect();
    let expected = [
        ("mutatingwebhookconfigurations", "own-mutating"),
        ("validatingwebhookconfigurations", "own-validating"),
    ];
    assert_eq!(targets, expected);
    let without = own_of(&flags(), &Webhooks::default()).unwrap().unwrap();
    assert!(without.targets.is_empty());
    assert_eq!(
        own.certificate().missing().unwrap(),
        "the Secret has not been read yet"
    );
}

#[tokio::test]
async fn flags_that_do_not_fit_are_refused() {
    let with = |change: &dyn Fn(&mut Flags)| {
        let mut flags = flags();
        change(&mut flags);
        own(&flags).err().unwrap()
    };
    assert_eq!(
        with(&|flags| flags.webhook_cert_path = Some("/certs".into())),
        "`--webhook-cert-secret` and `--webhook-cert-path` exclude each other: give one of them"
    );
    assert_eq!(
        with(&|flags| flags.webhook_service = None),
        "`--webhook-service` is needed with `--webhook-cert-secret`: give the name of the Service by which the API server calls the webhooks"
    );
    assert_eq!(
        with(&|flags| flags.mutating_webhook_configuration.push("A/B".to_owned())),
        "`--mutating-webhook-configuration` `A/B` cannot be a name: give lower-case letters, digits, `-` and `.`"
    );
    assert_eq!(
        with(&|flags| flags.webhook_cert_validity = Duration::from_secs(9)),
        "`--webhook-cert-validity` must be 10s or longer"
    );
}

#[test]
fn each_object_that_does_not_exist_is_named_once() {
    let (address, _) = crate::api_server::tests::serve(|_, _| Some(MISSING));
    let place = async {
        let flags = Flags {
            mutating_webhook_configuration: vec!["own".to_owned()],
            validating_webhook_configuration: vec!["own".to_owned()],
            ..flags()
        };
        let mut own = own(&flags).unwrap().unwrap();
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let client = Client::try_from(config).unwrap();
        let content = own.rules.apply(&Default::default(), None, own.now());
        let (content, _) = content.unwrap();
        for _ in 0..2 {
            own.place(&client, &content).await.unwrap();
        }
    };
    let lines = logged("warn".into(), || {
        tokio::runtime::Runtime::new().unwrap().block_on(place);
    });

    let kinds: Vec<_> = lines.iter().map(|line| &line["kind"]).collect();
    let expected = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn the_ca_is_written_wherever_a_service_is_called() {
    let bundle = json!("new");
    let mut configuration = json!({"webhooks": [
        {"name": "a", "clientConfig": {"service": {"name": "s"}, "caBundle": "old"}},
        {"name": "b", "clientConfig": {"service": {"name": "s"}}},
        {"name": "c", "clientConfig": {"url": "https://elsewhere", "caBundle": "theirs"}},
        {"name": "d"},
    ]});
    assert!(set_bundle(&mut configuration, &bundle));
    let webhooks = &configuration["webhooks"];
    assert_eq!(webhooks[0]["clientConfig"]["caBundle"], "new");
    assert_eq!(webhooks[1]["clientConfig"]["caBundle"], "new");
    assert_eq!(webhooks[2]["clientConfig"]["caBundle"], "theirs");
    assert_eq!(webhooks[3], json!({"name": "d"}));
    assert!(!set_bundle(&mut configuration, &bundle));

    let mut crd = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"service": {}}}}}});
    assert!(set_bundle(&mut crd, &bundle));
    assert_eq!(
        crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"],
        "new"
    );
    assert!(!set_bundle(&mut json!({"spec": {}}), &bundle));
}

/// Otherwise nobody could apply a CRD without its conversion.
#[test]
fn what_managers_have_written_is_given_up_and_nothing_else() {
    let entries = json!([
        {"manager": "deploy", "operation": "Apply"},
        {"manager": FIELD_MANAGER, "operation": "Update"},
        {"manager": "kube-apiserver", "operation": "Update", "subresource": "status"},
    ]);
    let metadata = json!({"name": "a", "managedFields": entries});
    let mut metadata: ObjectMeta = serde_json::from_value(metadata).unwrap();
    assert!(give_up(&mut metadata));
    let left = metadata.managed_fields.iter().flatten();
    let left: Vec<_> = left.flat_map(|it| it.manager.as_deref()).collect();
    assert_eq!(left, ["deploy", "kube-apiserver"]);
    assert!(!give_up(&mut metadata));
    assert!(!give_up(&mut ObjectMeta::default()));
}
