# Removes a version of a kind from `metadata.managedFields` of each object, where the API server records who has
# written which field. With a record of a version that the CRD no longer has, it fails each server-side apply of the
# object, also that of the manager. Type this once the CRD no longer serves the version, and before it lacks it:
#
#   sh hack/forget-version.sh PLURAL.GROUP VERSION
#
# The fields of an object stay as they are. If objects remain, it lists them and exits with code 1.
set -eu

crd=$1
version=$2
kubectl=${KUBECTL:-kubectl}

of_crd() {
	$kubectl get customresourcedefinition "$crd" --request-timeout=30s --output="jsonpath=$1"
}

storage=$(of_crd '{.spec.versions[?(@.storage==true)].name}')
served=$(of_crd "{.spec.versions[?(@.name==\"$version\")].served}")
if [ "$served" = true ]; then
	echo >&2 "error: $crd serves $version: everyone who writes an object in it would be recorded again
First deploy a CRD that does not serve it, then type the same command again."
	exit 1
fi
case " $(of_crd '{.status.storedVersions[*]}') " in
*" $version "*)
	echo >&2 "error: objects of $crd may be stored in $version: \`status.storedVersions\` of the CRD lists it
First migrate them as the file in config/storage-migration says, then type the same command again."
	exit 1
	;;
esac
group=${crd#*.}
resource=${crd%%.*}.$storage.$group

# Name, namespace and JSON patch of each object that has a record of the version.
patches() {
	fields='{.metadata.namespace}|{.metadata.name}|{.metadata.resourceVersion}|{.metadata.managedFields[*].apiVersion}'
	objects=$($kubectl get "$resource" --all-namespaces \
		--output="jsonpath={range .items[*]}$fields{\"\\n\"}{end}") || exit 1
	printf '%s\n' "$objects" | awk -F '|' -v gone="$group/$version" '{
		count = split($4, versions, " ")
		patch = ""
		kept = 0
		for (i = count; i > 0; i--) {
			if (versions[i] != gone) kept = 1
			else patch = patch ",{\"op\":\"remove\",\"path\":\"/metadata/managedFields/" (i - 1) "\"}"
		}
		if (patch == "") next
		# The API server ignores an empty list.
		if (!kept) patch = ",{\"op\":\"replace\",\"path\":\"/metadata/managedFields\",\"value\":[{}]}"
		test = "{\"op\":\"test\",\"path\":\"/metadata/resourceVersion\",\"value\":\"" $3 "\"}"
		print $2, ($1 == "" ? "-" : $1), "[" test patch "]"
	}'
}

# Several times, because somebody else may write an object in between.
for attempt in 1 2 3; do
	left=$(patches)
	[ -n "$left" ] || exit 0
	printf '%s\n' "$left" | while read -r name namespace patch; do
		[ "$namespace" = - ] && namespace=
		$kubectl patch "$resource" "$name" ${namespace:+"--namespace=$namespace"} --type=json --patch="$patch" \
			</dev/null || true
	done
done
left=$(patches)
[ -n "$left" ] || exit 0
echo >&2 "error: these objects still have a record of $version (name, namespace):
$(printf '%s\n' "$left" | cut -d ' ' -f 1,2)
Fix what is reported above, and type the same command again."
exit 1
