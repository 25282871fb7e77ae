# Applies a file of manifests, each part once what it needs is there, and waits until the manager serves:
#
#   sh hack/deploy.sh dist/install.yaml
#
# Webhooks come last: until the manager answers, the API server rejects every request that they cover.
set -eu

manifests=$1
kubectl=${KUBECTL:-kubectl}
timeout=${DEPLOY_TIMEOUT:-180s}
parts=$(dirname "$manifests")/parts

# Splits the manifests into these parts, and prints the version of each API that they use.
rm -rf "$parts"
mkdir -p "$parts"
apis=$(parts=$parts awk '
	function document() {
		part = "base"
		if (kind == "Deployment") part = "managers"
		if (kind ~ /WebhookConfiguration$/) part = "webhooks"
		if (api ~ /^cert-manager\.io\//) part = "authorities"
		# An Issuer that signs with a certificate from the cluster, and a certificate that it signs.
		if (part == "authorities" && (kind == "Issuer" ? is_ca : !is_ca)) part = "certificates"
		write(part)
		# Those that call a Service: cert-manager or the managers write the CA into them.
		if (part == "webhooks" && calls) write("injected-webhooks")
		if (kind == "CustomResourceDefinition" && converts) write("injected-crds")
		if (kind) print api
		text = kind = ""
		is_ca = calls = converts = 0
	}
	function write(part) {
		if (kind) printf "---\n%s", text >(ENVIRON["parts"] "/" part ".yaml")
	}
	/^---/ { document(); next }
	/^apiVersion:/ { api = $2 }
	/^kind:/ { kind = $2 }
	/^  ca:/ || /^  isCA: true/ { is_ca = 1 }
	/^    service:/ { calls = 1 }
	/^        service:/ { converts = 1 }
	{ text = text $0 "\n" }
	END { document() }' "$manifests")

served=$($kubectl api-versions)
for api in $apis; do
	printf '%s\n' "$served" | grep -qxF "$api" && continue
	echo >&2 "error: the cluster does not serve $api, so nothing has been applied."
	case $api in
	cert-manager.io/*) echo >&2 "Install cert-manager: https://cert-manager.io/docs/installation/" ;;
	*) echo >&2 "Install the CRDs of $api, or remove its objects from config/default." ;;
	esac
	exit 1
done

# Applies a part, if there is one. Server-side, because a CRD may be too long for the annotation of client-side apply, and with force,
# because the manifests are the source of truth, whatever has changed in the cluster.
apply() {
	[ ! -e "$parts/$1.yaml" ] || $kubectl apply --server-side --force-conflicts --filename="$parts/$1.yaml"
}

# Waits for a part, if there is one, with the rest of the arguments for kubectl.
await() {
	part=$1 what=$2
	shift 2
	[ -e "$parts/$part.yaml" ] || return 0
	echo "Waiting for $what, at most $timeout"
	$kubectl "$@" --filename="$parts/$part.yaml" --timeout="$timeout" || failed "$part" "$what"
}

# Says where to look.
failed() {
	namespace=$(awk '/^  namespace:/ { print $2; exit }' "$parts/managers.yaml")
	pods="-n $namespace -l control-plane=controller-manager"
	echo >&2
	if [ "$1" = managers ]; then
		$kubectl -n "$namespace" events --types=Warning >&2 || true
		$kubectl get pods $pods >&2 || true
	fi
	echo >&2 "error: waited in vain for $2. To find out why, type:"
	case $1 in
	managers)
		echo >&2 "  $kubectl describe pods $pods"
		echo >&2 "  $kubectl logs $pods --tail=-1"
		;;
	authorities | certificates)
		echo >&2 "  $kubectl describe --filename=$parts/$1.yaml"
		echo >&2 "  $kubectl -n cert-manager logs deployment/cert-manager"
		;;
	injected-*)
		if [ -e "$parts/authorities.yaml" ]; then
			echo >&2 "  $kubectl -n cert-manager logs deployment/cert-manager-cainjector"
		else
			echo >&2 "  $kubectl logs $pods --tail=-1 | grep -i certificate"
		fi
		;;
	*)
		echo >&2 "  $kubectl apply --server-side --dry-run=server -k config/samples"
		echo >&2 "  $kubectl -n $namespace get endpointslices,networkpolicies"
		;;
	esac
	echo >&2 "Then run the command again; DEPLOY_TIMEOUT=10m waits longer. 'make undeploy' deletes what was applied."
	exit 1
}

apply base
apply authorities
await authorities "the CA of cert-manager" wait --for=condition=Ready
apply certificates
await certificates "the certificates of cert-manager" wait --for=condition=Ready
apply managers
await managers "the managers" rollout status
apply webhooks
await injected-webhooks "the CA in the webhook configurations" wait \
	--for='jsonpath={.webhooks[0].clientConfig.caBundle}'
await injected-crds "the CA in the CRDs" wait \
	--for='jsonpath={.spec.conversion.webhook.clientConfig.caBundle}'
# A node routes to the managers only a moment after they are ready: until then, the API server cannot call them.
if [ -d config/samples ] && { [ -e "$parts/injected-webhooks.yaml" ] || [ -e "$parts/injected-crds.yaml" ]; }; then
	echo "Waiting for an answer of the webhooks to the samples"
	tries=60
	while $kubectl apply --server-side --dry-run=server -k config/samples 2>&1 |
		grep -e 'failed calling webhook' -e 'conversion webhook .* failed' >/dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || failed answer "an answer of the webhooks"
		sleep 1
	done
fi
