//! Admission policies, which the API server applies itself.

use crate::cluster::{Cluster, eventually};
use crate::deployed::Deployed;
use crate::examples;

/// `make deploy` installs the policies under names of the project, and they apply while no manager runs.
pub fn policies(cluster: &Cluster) {
    let deployed = Deployed::new(cluster, "scaffold");
    examples::load_images();
    let namespace = deployed.namespace();
    let sample = deployed.folder.join("config/samples/batch_v1_admiral.yaml");
    cluster.kubectl(&format!("apply -f {}", sample.display()));
    let admiral = "admiral admiral-sample";
    let created_by = format!(
        r"get {admiral} -o jsonpath={{.metadata.annotations.tutorial\.kubebuilder\.io/created-by}}"
    );
    assert_eq!(
        cluster.kubectl(&created_by),
        cluster.kubectl("auth whoami -o jsonpath={.status.userInfo.username}"),
        "the mutating policy"
    );
    cluster.kubectl(&format!("annotate {admiral} {PROTECTED}=true"));
    cluster.kubectl("run protected --image=busybox --command -- sleep 3600");
    cluster.kubectl(&format!("annotate pod protected {PROTECTED}=true"));

    refused(cluster, admiral, "scaffold-batch-admiral-v1");

    let scale = format!("scale -n {namespace} deployment/scaffold-controller-manager --replicas");
    cluster.kubectl(&format!("{scale}=0"));
    let pods = format!("get pods -n {namespace} -o name");
    eventually("the end of the managers", 60, || {
        cluster.kubectl(&pods).is_empty().then_some(())
    });
    refused(cluster, "pod protected", "scaffold-core-pod-v1");

    cluster.kubectl(&format!("{scale}=2"));
    let rollout = "rollout status deployment/scaffold-controller-manager --timeout=120s";
    cluster.kubectl(&format!("{rollout} -n {namespace}"));
    for object in [admiral, "pod protected"] {
        cluster.kubectl(&format!("annotate {object} {PROTECTED}-"));
        cluster.kubectl(&format!("delete {object}"));
    }
    deployed.undeploy();
}

/// The policy refuses to delete the object.
#[track_caller]
fn refused(cluster: &Cluster, object: &str, policy: &str) {
    let refusal = cluster
        .try_kubectl(&format!("delete {object} --wait=false"))
        .expect_err("a protected object is not deleted");
    assert!(
        refusal.contains(&format!("ValidatingAdmissionPolicy '{policy}'"))
            && refusal.contains("must be removed first"),
        "{refusal}"
    );
}

/// Which objects the scaffolded policies protect.
const PROTECTED: &str = "tutorial.kubebuilder.io/protected";
