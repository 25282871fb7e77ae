{{/* The name of the chart, as in the label app.kubernetes.io/name. */}}
{{- define "PROJECT.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{/* The beginning of the names of all objects. No two releases of a namespace share it. */}}
{{- define "PROJECT.fullname" -}}
{{- $name := include "PROJECT.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if eq .Release.Name $name -}}
{{- $name -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- end }}

{{/*
The name of an object: that of the release, and its own. A name of more than 63 characters is cut; a hash of the whole
name then keeps it different from all others. The arguments are a list: the root context and the object's own name.
*/}}
{{- define "PROJECT.objectName" -}}
{{- $full := include "PROJECT.fullname" (index . 0) -}}
{{- $own := index . 1 -}}
{{- $name := printf "%s-%s" $full $own -}}
{{- $hash := sha256sum $name | trunc 8 -}}
{{- $room := sub 53 (len $own) | int -}}
{{- if le (len $name) 63 -}}
{{- $name -}}
{{- else if gt $room 0 -}}
{{- printf "%s-%s-%s" ($full | trunc $room | trimSuffix "-") $hash $own -}}
{{- else -}}
{{- printf "%s-%s" ($name | trunc 54 | trimSuffix "-") $hash -}}
{{- end -}}
{{- end }}

{{/* The image of the manager. */}}
{{- define "PROJECT.image" -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end }}

{{/* The ServiceAccount of the manager. */}}
{{- define "PROJECT.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "PROJECT.objectName" (list . "controller-manager")) -}}
{{- end }}

{{/* The labels by which the pods of this release are selected. */}}
{{- define "PROJECT.selectorLabels" -}}
app.kubernetes.io/name: {{ include "PROJECT.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* The labels of all objects. */}}
{{- define "PROJECT.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{ include "PROJECT.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
{{- end }}
