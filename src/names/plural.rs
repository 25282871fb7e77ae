//! The plural of a kind, decided once: every file that needs it gets it from here.
//!
//! A few rules of English, and the words of the field that break them. The rules are kbr's own because
//! crates for this compile a hundred regular expressions at each start, which would be most of the time
//! of `create api`; the tests compare the rules with such a crate. `--plural` overrides the result.

/// Endings whose plural follows no rule, the longer of two first. They match at the end of a
/// word, so that `searchindex` needs no entry of its own.
const IRREGULAR: &str = "\
    analysis:analyses appendix:appendices basis:bases child:children corpus:corpora criterion:criteria \
    crisis:crises datum:data echo:echoes hero:heroes index:indices leaf:leaves lens:lenses life:lives \
    knife:knives matrix:matrices mouse:mice person:people quiz:quizzes self:selves shelf:shelves \
    half:halves synopsis:synopses thesis:theses vertex:vertices wolf:wolves";

/// Endings that are their own plural, although no rule covers them.
const UNCHANGED: &str = "chassis data deer equipment fish redis sheep";

/// Letters before a final `s` that mark a word as a plural already: `settings`,
/// `endpoints`, `services`, but not `status`, `alias` or `process`.
const BEFORE_PLURAL_S: &str = "bcdefghklmnopqrtvwy";

/// The plural of `singular`, a kind in lower case.
///
/// The result is a guess, not a checked name: it is parsed as a [`Plural`](super::Plural) like anything
/// typed.
pub(crate) fn pluralize(singular: &str) -> String {
    if UNCHANGED.split(' ').any(|word| singular.ends_with(word)) {
        return singular.to_owned();
    }
    let irregular = IRREGULAR.split(' ').filter_map(|pair| pair.split_once(':'));
    for (word, plural) in irregular {
        if let Some(stem) = singular.strip_suffix(word) {
            return format!("{stem}{plural}");
        }
    }
    if let Some(stem) = singular.strip_suffix('s')
        && stem.ends_with(|c: char| BEFORE_PLURAL_S.contains(c))
    {
        return singular.to_owned();
    }
    let consonant = |c: char| !matches!(c, 'a' | 'e' | 'i' | 'o' | 'u');
    if let Some(stem) = singular.strip_suffix('y')
        && stem.ends_with(consonant)
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"]
        .iter()
        .any(|ending| singular.ends_with(ending));
    format!("{singular}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    /// Kinds of Kubernetes and of well-known operators, and nouns that are likely kinds.
    const WORDS: &str = "\
        account address agent alert alertmanager alias analysis analysisrun api apigroup apiservice \
        app appendix application applicationset archive backup backuppolicy basis batch binding \
        box bridge broker bucket build builder bus busybox bundle cache canary captain certificate \
        certificaterequest channel chart chassis check child cluster clusterissuer clusterrole \
        componentstatus config configmap connector controllerrevision criterion cronjob cruiser \
        csidriver csinode data database datum deer deployment destroyer device equipment fish disk dns echo endpoints \
        endpointslice entry environment event eventlistener eviction experiment export failover \
        finding firewall firstmate flag flavor flowschema foo frigate function gateway \
        gatewayclass gauge grafana grant group guestbook half helmrelease hero host hostpath \
        httpproxy httproute https image imagepolicy import index ingress ingressclass ingressroute \
        instance integration inventory issuer job journal key keyspace kraken kustomization leaf \
        lease leviathan library life limitrange listener loadbalancer lock log machine matrix \
        memcached mesh metric middleware migration mirror model monitor mouse mutatingwebhook \
        myjob namespace navigator network networkpolicy node notification operator order order \
        organization pair patch peer permission persistentvolume persistentvolumeclaim person pipeline \
        pipelinerun pod poddisruptionbudget podmonitor podtemplate policy pool postgres prawn \
        priorityclass probe process profile project prometheus proxy quay queue quiz quota ray \
        realm receiver redis registry release replica replicaset repository repo resourcequota \
        restore revision role rolebinding route router rule run runtimeclass sailor scaledobject \
        schedule secret secretstore series server service serviceaccount serviceentry \
        servicemonitor session shard sheep shelf site snapshot source space stack statefulset status \
        settings nodes kudos macros foos elevenchars services ops storageclass store stream subscription switch synopsis system task taskrun tenant test theme \
        thesis token topic trigger tunnel user validatingwebhook vault version vertex virtualmachine \
        virtualservice volume volumeattachment webhook wordpress workflow workload workspace zone";

    #[test]
    fn kinds_have_the_plural_that_a_library_gives_them() {
        let library = |word: &str| pluralizer::pluralize(word, 2, false);
        let words = WORDS
            .split_whitespace()
            .map(|word| (word, pluralize(word), library(word)));
        let differ: Vec<_> = words.filter(|(_, ours, theirs)| ours != theirs).collect();
        assert_eq!(differ, []);
    }

    #[test]
    fn words_of_the_field_have_the_plural_that_the_field_uses() {
        // The library says viri, lens, schemata and corpuses.
        let expected = [
            ("virus", "viruses"),
            ("lens", "lenses"),
            ("schema", "schemas"),
            ("corpus", "corpora"),
            ("flowschema", "flowschemas"),
            ("networkpolicy", "networkpolicies"),
            ("wolf", "wolves"),
            ("myself", "myselves"),
        ];
        for (singular, plural) in expected {
            assert_eq!(pluralize(singular), plural, "{singular}");
        }
    }
}
