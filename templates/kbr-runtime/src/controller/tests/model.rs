// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A whole controller against a model of an API server: cache, queue and workers on one thread, in paused time,
//! under a schedule that a seed chooses.
//!
//! Each Secret wants a ConfigMap of its own name with its own text, and has a status. Users change, delete and recreate
//! both, the controller deletes or prunes its ConfigMap now and then, and what is deleted may stay for a while,
//! terminating. The watches are late, break off and list again, lists are refused or older than what is written
//! meanwhile, requests are slow and their answers get lost, names are taken by objects of others, and in the end
//! leadership is lost. A second controller shares the caches, one of which may be slimmed, and a task and webhooks read
//! them. `KBR_SCHEDULES` is the number of schedules, and `KBR_SEED` the seed of the first one: a failure prints the
//! command that repeats it, and `KBR_TRACE=1` shows what happens.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;

use futures::FutureExt;
use http::{Method, Request, Response};
use kube::client::Body;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::*;
use crate::Handle;
use crate::cache::Received;
use crate::lock::lock;
use crate::random::tests::{again, seeds};
use crate::webhook::tests::{VALIDATE, webhooks};

/// How many schedules are tried unless `KBR_SCHEDULES` says otherwise.
const SCHEDULES: u64 = 2_000;

/// The longest that a request, a watch or a reconcile may be held up by the model.
const LATE: Duration = Duration::from_millis(300);

/// When all is quiet, everything must have been reconciled within this time: every object may wait for the others,
/// each of which takes a few requests and waits twice for the cache.
const BOUND: Duration = Duration::from_secs(60);

/// After how long each object is due again.
const PERIOD: Duration = Duration::from_secs(300);

const NAMES: [&str; 3] = ["a", "b", "c"];

/// The fields of an object that is being deleted and still there.
const TERMINATING: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];

/// An xorshift generator.
struct Chance(u64);

impl Chance {
    fn of(seed: u64) -> Self {
        // An xorshift generator never leaves 0.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn time(&mut self, limit: Duration) -> Duration {
        // Most delays are short, so that orders differ more than times.
        let exponent = self.below(8);
        let millis = u64::try_from(limit.as_millis()).unwrap() >> exponent;
        Duration::from_millis(self.below(millis + 1))
    }
}

/// The objects of one kind, by name, and what has happened to them.
#[derive(Default)]
struct Kind {
    objects: BTreeMap<String, Value>,
    /// Each with its version: whether it was a deletion, and the object.
    events: Vec<(u64, bool, Value)>,
}

struct Model {
    chance: Chance,
    version: u64,
    secrets: Kind,
    maps: Kind,
    /// The objects that are being reconciled.
    running: BTreeSet<String>,
    /// The version of the last own write of each ConfigMap whose answer has arrived.
    written: BTreeMap<String, u64>,
    /// When the last reconcile of each object ended.
    reconciled: BTreeMap<String, Instant>,
    /// What the second controller has last seen of each Secret.
    seen: BTreeMap<String, Value>,
    /// What the first complete list of Secrets had: the UID of each, by its name.
    listed: Option<BTreeMap<String, Value>>,
    /// What is being deleted and still there: the kind, the name and the UID.
    terminating: Vec<(&'static str, String, Value)>,
    is_lost: bool,
    is_over: bool,
    wrong: Vec<String>,
    /// Something has happened.
    events: Arc<tokio::sync::Notify>,
}

type Shared = Arc<Mutex<Model>>;

impl Model {
    fn kind(&mut self, plural: &str) -> &mut Kind {
        match plural {
            "secrets" => &mut self.secrets,
            _ => &mut self.maps,
        }
    }

    /// Stores an object, which may be new.
    fn put(&mut self, plural: &str, name: &str, mut object: Value) -> Value {
        self.version += 1;
        let version = self.version;
        let known = self.kind(plural).objects.get(name).cloned();
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(name);
        metadata["namespace"] = json!("default");
        metadata["uid"] = match &known {
            Some(known) => known["metadata"]["uid"].clone(),
            None => json!(format!("{name}-{version}")),
        };
        metadata["resourceVersion"] = json!(version.to_string());
        // What is being deleted stays so.
        for field in TERMINATING {
            let known = known.as_ref().map(|known| &known["metadata"][field]);
            if let Some(known) = known.filter(|known| !known.is_null()) {
                metadata[field] = known.clone();
            }
        }
        let kind = self.kind(plural);
        kind.objects.insert(name.to_owned(), object.clone());
        kind.events.push((version, false, object.clone()));
        self.events.notify_waiters();
        object
    }

    fn delete(&mut self, plural: &str, name: &str) {
        let Some(mut object) = self.kind(plural).objects.remove(name) else {
            return;
        };
        self.version += 1;
        let version = self.version;
        object["metadata"]["resourceVersion"] = json!(version.to_string());
        let uid = object["metadata"]["uid"].clone();
        self.kind(plural).events.push((version, true, object));
        self.events.notify_waiters();
        if plural == "secrets" {
            // The garbage collector.
            let owned = self
                .maps
                .objects
                .iter()
                .filter(|(_, map)| map["metadata"]["ownerReferences"][0]["uid"] == uid);
            let owned: Vec<_> = owned.map(|(name, _)| name.clone()).collect();
            for name in owned {
                self.delete("configmaps", &name);
            }
        }
    }

    /// Deletes an object, at once or after a while. Returns what is left of it.
    fn let_go(&mut self, plural: &'static str, name: &str) -> Option<Value> {
        let mut object = self.kind(plural).objects.get(name)?.clone();
        if is_terminating(&object) {
            return Some(object);
        }
        if self.chance.one_in(2) {
            self.delete(plural, name);
            return None;
        }
        let [time, grace] = TERMINATING;
        object["metadata"][time] = json!("2015-10-21T07:28:00Z");
        object["metadata"][grace] = json!(30);
        let uid = object["metadata"]["uid"].clone();
        self.terminating.push((plural, name.to_owned(), uid));
        Some(self.put(plural, name, object))
    }

    /// A request of the controller to delete a ConfigMap.
    fn delete_own(&mut self, name: &str, options: &Value) -> (u16, Value) {
        let known = self
            .maps
            .objects
            .get(name)
            .map(|map| &map["metadata"]["uid"]);
        match known {
            None => (404, not_found(name)),
            Some(uid) if *uid != options["preconditions"]["uid"] => (409, conflict()),
            Some(_) => {
                let left = self.let_go("configmaps", name);
                (
                    200,
                    left.unwrap_or_else(|| json!({"kind": "Status", "status": "Success"})),
                )
            }
        }
    }

    /// A server-side apply of a ConfigMap.
    fn apply(&mut self, name: &str, mut object: Value) -> (u16, Value) {
        let known = self
            .maps
            .objects
            .get(name)
            .map(|known| known["metadata"].clone());
        let meant = &object["metadata"];
        let is_meant = match &known {
            Some(known) => {
                known["resourceVersion"] == meant["resourceVersion"] && known["uid"] == meant["uid"]
            }
            None => meant["resourceVersion"] == "1" && meant.get("uid").is_none(),
        };
        if !is_meant {
            return (409, conflict());
        }
        // The garbage collector deletes what has no owner.
        let owner = object["metadata"]["ownerReferences"][0].clone();
        let is_owned = |secret: &Value| secret["metadata"]["uid"] == owner["uid"];
        let is_orphan = !self.secrets.objects.values().any(is_owned);
        object["metadata"].as_object_mut().unwrap().remove("uid");
        let stored = self.put("configmaps", name, object);
        if is_orphan {
            self.delete("configmaps", name);
        }
        (200, stored)
    }

    /// A server-side apply of the status of a Secret, which does nothing if the Secret has it.
    fn apply_status(&mut self, name: &str, object: &Value) -> (u16, Value) {
        let version = &object["metadata"]["resourceVersion"];
        let known = self.secrets.objects.get(name).cloned();
        match known.filter(|known| known["metadata"]["resourceVersion"] == *version) {
            None => (409, conflict()),
            Some(known) if known["status"] == object["status"] => (200, known),
            Some(mut known) => {
                known["status"] = object["status"].clone();
                (200, self.put("secrets", name, known))
            }
        }
    }

    /// Something that a user, or another controller, does.
    fn disturb(&mut self) {
        let name = NAMES[usize::try_from(self.chance.below(3)).unwrap()];
        let text = self.version;
        match self.chance.below(8) {
            0 => drop(self.let_go("secrets", name)),
            1 => drop(self.let_go("configmaps", name)),
            2 => {
                // Drift.
                if let Some(mut map) = self.maps.objects.get(name).cloned() {
                    map["data"] = json!({"text": "drifted"});
                    self.put("configmaps", name, map);
                }
            }
            3 => {
                if !self.maps.objects.contains_key(name) {
                    self.put(
                        "configmaps",
                        name,
                        json!({"metadata": {}, "data": {"text": "foreign"}}),
                    );
                }
            }
            _ => {
                let secret = json!({"metadata": {}, "stringData": {"text": text.to_string()}});
                self.put("secrets", name, secret);
            }
        }
    }

    /// The objects of a kind as they were at that version.
    fn at(&mut self, plural: &str, version: u64) -> Vec<Value> {
        let mut objects = BTreeMap::new();
        for (at, is_deletion, object) in &self.kind(plural).events {
            let name = object["metadata"]["name"].to_string();
            match (*at <= version, is_deletion) {
                (true, false) => drop(objects.insert(name, object.clone())),
                (true, true) => drop(objects.remove(&name)),
                (false, _) => {}
            }
        }
        objects.into_values().collect()
    }

    /// What is not as it should be once all is quiet.
    fn missing(&self) -> Vec<String> {
        let secrets = self.secrets.objects.iter();
        let wrong = secrets.filter(|(name, secret)| {
            if self.seen.get(*name) != Some(&secret["stringData"]["text"]) {
                return true;
            }
            let map = self.maps.objects.get(*name);
            let has = map.map(|map| &map["data"]["text"]);
            !map.is_some_and(is_foreign) && has != Some(&secret["stringData"]["text"])
        });
        wrong.map(|(name, _)| name.clone()).collect()
    }
}

fn conflict() -> Value {
    json!({"kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": ""})
}

fn not_found(name: &str) -> Value {
    let details = json!({"name": name, "kind": "configmaps"});
    json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "details": details, "message": ""})
}

fn is_terminating(object: &Value) -> bool {
    object["metadata"].get(TERMINATING[0]).is_some()
}

/// Shows what happens, if somebody wants to know.
fn trace(what: impl FnOnce() -> String) {
    if std::env::var_os("KBR_TRACE").is_some() {
        eprintln!("{:?} {}", Instant::now(), what());
    }
}

fn identity(object: &Value) -> String {
    let metadata = &object["metadata"];
    format!("{} {}", metadata["uid"], metadata["resourceVersion"])
}

/// Whether it belongs to somebody else.
fn is_foreign(map: &Value) -> bool {
    map["metadata"].get("ownerReferences").is_none()
}

/// Waits as long as chance wants it.
async fn hold(model: &Shared, limit: Duration) {
    let (yields, time) = {
        let chance = &mut lock(model).chance;
        (chance.below(3), chance.time(limit))
    };
    for _ in 0..yields {
        tokio::task::yield_now().await;
    }
    if !time.is_zero() {
        sleep(time).await;
    }
}

/// Lets what is terminating go after a while.
async fn end(model: Shared) {
    loop {
        let events = lock(&model).events.clone();
        let another = events.notified();
        if lock(&model).terminating.is_empty() {
            another.await;
        }
        hold(&model, LATE * 4).await;
        let mut model = lock(&model);
        if let Some((plural, name, uid)) = model.terminating.pop()
            && let Some(object) = model.kind(plural).objects.get(&name)
            && object["metadata"]["uid"] == uid
        {
            model.delete(plural, &name);
        }
    }
}

/// Shows a cache what happens to the objects of a kind.
async fn watch<K: Cached>(model: Shared, plural: &'static str, cache: Cache<K>) {
    let received = |object: &Value| Received::read(&object.to_string()).unwrap();
    let mut reached = 0;
    loop {
        trace(|| format!("{plural}: a list begins"));
        let begun = lock(&model).version;
        cache.take(Event::Init);
        hold(&model, LATE).await;
        let (listed, mut position) = {
            let mut model = lock(&model);
            let age = match !model.is_over && model.chance.one_in(6) {
                true => model.chance.below(4),
                false => 0,
            };
            // It has everything that was written before it was asked for.
            let version = model.version.saturating_sub(age).max(reached).max(begun);
            reached = version;
            (model.at(plural, version), version)
        };
        let breaks_off = lock(&model).chance.one_in(8);
        for object in &listed {
            hold(&model, LATE / 8).await;
            trace(|| format!("{plural}: listed {}", identity(object)));
            cache.take(Event::InitApply(received(object)));
        }
        if breaks_off {
            continue;
        }
        hold(&model, LATE).await;
        trace(|| format!("{plural}: the list is complete"));
        if plural == "secrets" {
            let listed = listed.iter().map(|object| {
                let metadata = &object["metadata"];
                let name = metadata["name"].as_str().unwrap().to_owned();
                (name, metadata["uid"].clone())
            });
            lock(&model).listed.get_or_insert_with(|| listed.collect());
        }
        cache.take(Event::InitDone);
        hold(&model, LATE).await;
        cache.passed(position);
        loop {
            reached = position;
            hold(&model, LATE / 8).await;
            let events = lock(&model).events.clone();
            let another = events.notified();
            let event = {
                let mut model = lock(&model);
                let is_cut = !model.is_over && model.chance.one_in(12);
                let events = &model.kind(plural).events;
                let next = events.iter().find(|(version, ..)| *version > position);
                (is_cut, next.cloned())
            };
            match event {
                (true, _) => break,
                (false, None) => another.await,
                (false, Some((version, is_deletion, object))) => {
                    let what = if is_deletion { "deleted" } else { "shown" };
                    trace(|| format!("{plural}: {what} {}", identity(&object)));
                    position = version;
                    cache.take(match is_deletion {
                        true => Event::Delete(received(&object)),
                        false => Event::Apply(received(&object)),
                    });
                }
            }
        }
        hold(&model, LATE).await;
    }
}

/// Answers the requests of the controller.
fn client(model: &Shared) -> Client {
    let model = model.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let model = model.clone();
        async move {
            let (parts, body) = request.into_parts();
            let is_deletion = parts.method == Method::DELETE;
            assert!(is_deletion || parts.method == Method::PATCH);
            let body = body.collect_bytes().await.unwrap();
            let object: Value = serde_json::from_slice(&body).unwrap();
            // `/api/v1/namespaces/default/PLURAL/NAME`, and the status below it.
            let mut path = parts.uri.path().split('/').skip(6);
            let (name, is_status) = (path.next().unwrap().to_owned(), path.next().is_some());
            hold(&model, LATE).await;
            let (code, answer) = {
                let mut model = lock(&model);
                // As the gate of the election does.
                if model.is_lost {
                    model
                        .wrong
                        .push(format!("{name} was written after the loss"));
                    return Err("this process no longer leads".into());
                }
                if !model.is_over && model.chance.one_in(20) {
                    return Err("the request was lost".into());
                }
                let (code, answer) = match (is_deletion, is_status) {
                    (true, _) => model.delete_own(&name, &object),
                    (_, true) => model.apply_status(&name, &object),
                    _ => model.apply(&name, object),
                };
                trace(|| format!("{name}: {code} {}", identity(&answer)));
                (code, answer)
            };
            hold(&model, LATE).await;
            let mut model = lock(&model);
            if !model.is_over && model.chance.one_in(20) {
                return Err("the answer was lost".into());
            }
            if code == 200 && !is_status && !is_deletion {
                let version = answer["metadata"]["resourceVersion"].as_str().unwrap();
                model.written.insert(name, version.parse().unwrap());
            }
            let response = Response::builder().status(code);
            let response = response.body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, Box<dyn StdError + Send + Sync>>(response.unwrap())
        }
    });
    Client::new(service, "default")
}

async fn reconcile(
    model: Shared,
    maps: Cache<ConfigMap>,
    secret: Handle<Secret>,
) -> Result<Action, crate::OwnedError> {
    let name = secret.name_any();
    let own = {
        let mut model = lock(&model);
        if model.is_lost {
            model
                .wrong
                .push(format!("{name} was reconciled after the loss"));
        }
        if !model.running.insert(name.clone()) {
            model
                .wrong
                .push(format!("{name} was reconciled beside itself"));
        }
        model.written.get(&name).copied()
    };
    trace(|| format!("reconcile of {name}, {:?}", secret.resource_version()));
    let ended = Ended(model.clone(), name.clone());
    // What this process has written is seen, unless something newer is.
    let entry = maps.entry(&Key::new(Some("default".to_owned()), name.clone()));
    if let (Some(own), Some(entry)) = (own, entry)
        && entry.number() < own
    {
        let wrong = format!(
            "{name} is seen in version {}, but {own} was written",
            entry.number()
        );
        lock(&model).wrong.push(wrong);
    }
    hold(&model, LATE / 8).await;
    delete_now_and_then(&model, &maps, &secret).await?;
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some(name.clone());
    let text = secret
        .string_data
        .iter()
        .flat_map(|data| data.get("text").cloned())
        .next();
    wanted.data = text.map(|text| [("text".to_owned(), text)].into());
    let applied = secret.apply(&wanted).await;
    if let Ok(applied) = &applied
        && let Ok(pruned @ [_, ..]) = secret.prune(std::slice::from_ref(applied)).await.as_deref()
    {
        let wrong = format!("{} of what {name} wants was pruned", pruned.len());
        lock(&model).wrong.push(wrong);
    }
    // Its errors are those of requests, after which nothing is wrong.
    let written = secret.apply_status(&json!({ "text": wanted.data })).await;
    trace(|| {
        format!(
            "{name}, status: {:?}",
            written.map_err(|error| error.to_string())
        )
    });
    drop(ended);
    trace(|| match &applied {
        Ok(map) => format!("{name} has version {:?}", map.resource_version()),
        Err(error) => format!("{name}: {}", crate::chain::chain(error)),
    });
    match applied {
        Ok(_) => Ok(Action::requeue(PERIOD)),
        Err(crate::OwnedError::NameTaken { .. }) => Ok(Action::await_change()),
        Err(error) => Err(error),
    }
}

/// Deletes what the Secret owns, if chance wants it. While the API server has it, the cache has it as well.
async fn delete_now_and_then(
    model: &Shared,
    maps: &Cache<ConfigMap>,
    secret: &Handle<Secret>,
) -> Result<(), crate::OwnedError> {
    let (is_wanted, prunes) = {
        let mut model = lock(model);
        let is_wanted = !model.is_over && model.chance.one_in(4);
        (is_wanted, is_wanted && model.chance.one_in(2))
    };
    let owned = match is_wanted {
        true => secret.owned::<ConfigMap>()?,
        false => Vec::new(),
    };
    if prunes {
        secret.prune::<ConfigMap>(&[]).await?;
    }
    for map in owned {
        if !prunes {
            secret.delete_owned(&*map).await?;
        }
        let (mut model, name) = (lock(model), map.name_any());
        let left = model.maps.objects.get(&name);
        let is_left = left.is_some_and(|left| left["metadata"]["uid"] == json!(map.uid()));
        if is_left && maps.entry(&Key::of(&*map)).is_none() {
            model
                .wrong
                .push(format!("{name} is forgotten while it terminates"));
        }
    }
    Ok(())
}

/// Notes the end of a reconcile, also of one that was dropped.
struct Ended(Shared, String);

impl Drop for Ended {
    fn drop(&mut self) {
        let mut model = lock(&self.0);
        model.running.remove(&self.1);
        model.reconciled.insert(self.1.clone(), Instant::now());
    }
}

/// Another controller of the same objects, which only looks at them.
fn second(model: &Shared, secrets: &Cache<Secret>, maps: &Cache<ConfigMap>) -> Prepared {
    let model = model.clone();
    let reconcile = move |secret: Handle<Secret>| {
        let mut text = secret.string_data.iter().flat_map(|data| data.get("text"));
        let text = json!(text.next().cloned());
        lock(&model).seen.insert(secret.name_any(), text);
        std::future::ready(Ok::<_, Infallible>(Action::await_change()))
    };
    let run = run_with(nowhere(), &Queue::new(Counts::unread()));
    let controller = Controller::new(secrets.clone()).owns(maps.clone());
    controller.prepare("second", reconcile, Arc::new(|_, _| None), run)
}

/// A task, which begins when the cache has been listed.
async fn task(model: Shared, secrets: Cache<Secret>) {
    secrets.listed().await;
    find(&model, &secrets);
}

/// The reviews of a webhook, which reads the cache. Some come before it has been listed, and some cannot wait for that.
async fn reviews(model: Shared, secrets: Cache<Secret>) {
    let mut webhooks = webhooks();
    webhooks.reads(VALIDATE, &secrets);
    for _ in 0..3 {
        hold(&model, LATE * 2).await;
        let patience = lock(&model).chance.time(LATE * 4);
        match webhooks.listed(VALIDATE, Instant::now() + patience).await {
            Ok(()) => find(&model, &secrets),
            Err(resource) if resource == "secrets" && !secrets.is_listed() => {}
            Err(resource) => {
                let wrong = format!("a review was refused because of {resource}");
                lock(&model).wrong.push(wrong);
            }
        }
    }
}

/// Reads a cache that has been listed: what is not in it does not exist.
fn find(model: &Shared, secrets: &Cache<Secret>) {
    let mut model = lock(model);
    let Some(listed) = model.listed.clone() else {
        return model
            .wrong
            .push("a cache is listed before its first list is complete".to_owned());
    };
    // Another object may have the name since.
    let is_there = |(name, uid): &(&String, &Value)| {
        let object = model.secrets.objects.get(*name);
        object.is_some_and(|object| object["metadata"]["uid"] == **uid)
    };
    let there = listed.iter().filter(is_there).map(|(name, _)| name);
    let known: BTreeSet<_> = secrets
        .keys()
        .iter()
        .map(|key| key.name().to_owned())
        .collect();
    let unknown = there.filter(|name| !known.contains(*name));
    let wrong: Vec<_> = unknown
        .map(|name| format!("{name} is not in a cache that has been listed"))
        .collect();
    model.wrong.extend(wrong);
}

/// Runs one schedule. Returns what was wrong.
async fn schedule(seed: u64) -> Vec<String> {
    let mut chance = Chance::of(seed);
    let (concurrency, turns) = (
        u16::try_from(1 + chance.below(3)).unwrap(),
        4 + chance.below(12),
    );
    let is_slim = chance.one_in(2);
    let model = Arc::new(Mutex::new(Model {
        chance,
        version: 1,
        secrets: Kind::default(),
        maps: Kind::default(),
        running: BTreeSet::new(),
        written: BTreeMap::new(),
        reconciled: BTreeMap::new(),
        seen: BTreeMap::new(),
        listed: None,
        terminating: Vec::new(),
        is_lost: false,
        is_over: false,
        wrong: Vec::new(),
        events: Arc::default(),
    }));
    let (secrets, maps) = (empty::<Secret>(), empty::<ConfigMap>());
    let queue = Queue::new(Counts::unread());
    let run = run_with(client(&model), &queue);
    let controller = Controller::new(secrets.clone())
        .owns(maps.clone())
        .rate_limit(Duration::from_millis(5), Duration::from_secs(1))
        .concurrency(concurrency);
    let (used, seen) = (model.clone(), maps.clone());
    let reconcile = move |secret| reconcile(used.clone(), seen.clone(), secret);
    let prepared = controller.prepare("test", reconcile, Arc::new(|_, _| None), run);
    let second = second(&model, &secrets, &maps);
    if is_slim {
        maps.slim(|map| map.data = None);
    }
    let mut watches = JoinSet::new();
    watches.spawn(second.work.map(|_| ()));
    watches.spawn(task(model.clone(), secrets.clone()));
    watches.spawn(reviews(model.clone(), secrets.clone()));
    watches.spawn(end(model.clone()));
    watches.spawn(watch(model.clone(), "secrets", secrets));
    watches.spawn(watch(model.clone(), "configmaps", maps));

    let steps = async {
        for _ in 0..turns {
            lock(&model).disturb();
            hold(&model, LATE).await;
        }
        {
            let mut model = lock(&model);
            trace(|| "no more disturbances".to_owned());
            model.is_over = true;
            // The objects of others go, and the names become free.
            let taken = model.maps.objects.iter().filter(|(_, map)| is_foreign(map));
            let taken: Vec<_> = taken.map(|(name, _)| name.clone()).collect();
            for name in taken {
                model.delete("configmaps", &name);
            }
        }
        sleep(BOUND).await;
        let missing = lock(&model).missing();
        for name in missing {
            let wrong = format!("{name} was not brought to what its Secret wants");
            lock(&model).wrong.push(wrong);
        }
        // What is due runs in time.
        let quiet = Instant::now();
        sleep(PERIOD + BOUND).await;
        let time = {
            let mut model = lock(&model);
            let late = model.secrets.objects.keys().filter(|name| {
                let last = model.reconciled.get(*name);
                last.is_none_or(|last| *last < quiet)
            });
            let late: Vec<_> = late
                .map(|name| format!("{name} was due and not reconciled"))
                .collect();
            model.wrong.extend(late);
            if queue.backlog().waiting > 0 {
                model.wrong.push("something still waits".to_owned());
            }
            // Something is under way when the Lease is lost.
            model.disturb();
            model.disturb();
            model.chance.time(LATE)
        };
        sleep(time).await;
    };
    tokio::select! {
        reason = prepared.work => lock(&model).wrong.push(format!("it ended: {reason}")),
        () = steps => {}
    }
    // The workers were dropped.
    lock(&model).is_lost = true;
    sleep(LATE * 10).await;
    drop(watches);
    std::mem::take(&mut lock(&model).wrong)
}

#[test]
fn a_seed_decides_a_schedule() {
    let chosen = |seed| {
        let mut chance = Chance::of(seed);
        (0..8).map(|_| chance.below(1000)).collect::<Vec<_>>()
    };
    assert_eq!(chosen(7), chosen(7));
    let different: BTreeSet<_> = (0..100).map(chosen).collect();
    assert_eq!(different.len(), 100);
}

#[test]
fn no_schedule_loses_a_change_or_lets_anything_run_that_must_not() {
    let seeds = seeds(SCHEDULES);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let seeds = seeds.clone().skip(thread).step_by(threads);
            scope.spawn(|| seeds.for_each(check));
        }
    });
}

fn check(seed: u64) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let wrong = runtime.block_on(schedule(seed));
    assert!(
        wrong.is_empty(),
        "{wrong:?}\n{}",
        again(&(seed..seed + 1), "no_schedule")
    );
}
