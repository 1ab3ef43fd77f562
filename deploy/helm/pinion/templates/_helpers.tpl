{{- define "pinion.name" -}}
{{- /* A service's name has no dot and begins with a letter; a release's may differ. */}}
{{- $name := .Release.Name | replace "." "-" }}
{{- if regexMatch "^[0-9]" $name }}{{ $name = printf "%s-%s" .Chart.Name $name }}
{{- else if not (contains .Chart.Name $name) }}{{ $name = printf "%s-%s" $name .Chart.Name }}{{ end }}
{{- $name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "pinion.text" -}}
{{- /* Not toString, which writes 10000000 as 1e+07. */}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end }}
{{- end }}

{{- define "pinion.texts" -}}
{{- range $key, $value := . }}
{{ $key | quote }}: {{ include "pinion.text" $value | quote }}
{{- end }}
{{- end }}

{{- define "pinion.selector" -}}
app.kubernetes.io/name: pinion
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "pinion.labels" -}}
{{ include "pinion.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end }}

{{- define "pinion.scaled" -}}
{{- /* "" if the number of servers is .Values.replicas. */}}
{{- if .Values.autoscaling.enabled }}true{{ end }}
{{- $own := include "pinion.name" . }}
{{- range .Values.queueScaling.models }}{{ if eq (.deployment | default $own) $own }}true{{ end }}{{ end }}
{{- end }}
