# Deletes what a kustomization applies, and before that every object of its CRDs:
#
#   sh hack/delete.sh config/default
#
# The objects go first, while the manager runs: an object with a finalizer is deleted only after the manager has
# removed the finalizer. If objects remain, it lists them, deletes nothing else and exits with code 1.
set -eu

kustomization=$1
kubectl=${KUBECTL:-kubectl}
timeout=${DELETE_TIMEOUT:-120s}

manifests=$($kubectl kustomize "$kustomization")
crds=$(printf '%s\n' "$manifests" | awk '
	function document() {
		if (kind == "CustomResourceDefinition") print name
		kind = name = ""
	}
	/^---/ { document() }
	/^[a-z]/ { section = $1 }
	/^kind:/ { kind = $2 }
	section == "metadata:" && /^  name:/ { name = $2 }
	END { document() }')

# The CRDs that exist in the cluster, in their stored version, which needs no conversion webhook.
version='{.spec.versions[?(@.storage==true)].name}'
resources=
for crd in $crds; do
	resource=$($kubectl get customresourcedefinition "$crd" --ignore-not-found --request-timeout=10s \
		--output="jsonpath={.spec.names.plural}.$version.{.spec.group}")
	resources=$resources${resource:+,$resource}
done
resources=${resources#,}

if [ -n "$resources" ]; then
	failed=false
	$kubectl delete "$resources" --all --all-namespaces --timeout="$timeout" --request-timeout="$timeout" ||
		failed=true
	columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,FINALIZERS:.metadata.finalizers
	left=$($kubectl get "$resources" --all-namespaces --ignore-not-found --request-timeout=30s \
		--no-headers --output=custom-columns="$columns")
	if [ -n "$left" ]; then
		cat >&2 <<END
error: these objects still exist (kind, namespace, name, finalizers):
$left
Nothing else has been deleted. A finalizer must be removed by the program that added it: for those of the
manager, check that it is running and what it logs, then run the command again.
To skip the cleanup that a finalizer waits for, remove the finalizer from the object yourself:
  $kubectl patch RESOURCE NAME --namespace=NAMESPACE --type=merge --patch='{"metadata":{"finalizers":null}}'
where RESOURCE is one of $resources
END
		failed=true
	fi
	[ "$failed" = false ] || exit 1
fi

# The cluster may lack an API, such as cert-manager's, and then has no object of it: kubectl would fail.
# Webhooks go first: without the manager, the API server would reject every request that they cover.
served=$($kubectl api-versions)
manifests=$(printf '%s\n' "$manifests" | served=$served awk '
	function document() {
		if (api in served && kind ~ /WebhookConfiguration$/) printf "%s---\n", text
		else if (api in served) rest = rest text "---\n"
		text = ""
	}
	BEGIN {
		split(ENVIRON["served"], list)
		for (i in list) served[list[i]]
	}
	/^---/ { document(); next }
	/^apiVersion:/ { api = $2 }
	/^kind:/ { kind = $2 }
	{ text = text $0 "\n" }
	END { document(); printf "%s", rest }')
found=$(printf '%s\n' "$manifests" | $kubectl get --ignore-not-found --output=name --filename=-)
if [ -z "$found" ]; then
	[ "${IGNORE_NOT_FOUND:-false}" = true ] && exit
	echo >&2 "error: nothing of $kustomization is in the cluster of the current kubeconfig"
	exit 1
fi
printf '%s\n' "$manifests" | $kubectl delete --ignore-not-found --timeout="$timeout" --filename=-
