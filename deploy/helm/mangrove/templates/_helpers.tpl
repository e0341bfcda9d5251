{{- define "mangrove.selector" -}}
app.kubernetes.io/name: mangrove
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "mangrove.labels" -}}
{{ include "mangrove.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* Host of a node: its pod, in the headless Service. The names end with .svc, so that the domain of the cluster does not matter. */}}
{{- define "mangrove.domain" -}}
{{ .Release.Name }}.{{ .Release.Namespace }}.svc
{{- end }}

{{/* Address of the graph, for a process with its certificates in /tls. */}}
{{- define "mangrove.address" -}}
{{- $hosts := list -}}
{{- range until (int .Values.nodes) -}}
{{- $hosts = append $hosts (printf "%s-%d.%s:7701" $.Release.Name . (include "mangrove.domain" $)) -}}
{{- end -}}
mangrove://{{ join "," $hosts }}/{{ .Values.graph }}?tls=/tls
{{- end }}

{{- define "mangrove.log" -}}
kafka://{{ join "," .Values.kafka.brokers }}
{{- end }}

{{/* What all pods have. */}}
{{- define "mangrove.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all containers have. */}}
{{- define "mangrove.container" -}}
image: {{ .Values.image | quote }}
command: [mangrove]
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end }}

{{/* Volumes: a Secret that only the user of the container can read, and a place for temporary files. */}}
{{- define "mangrove.secret" -}}
- name: {{ index . 0 }}
  secret:
    secretName: {{ index . 1 }}
    defaultMode: 0440
{{- end }}

{{- define "mangrove.tmp" -}}
- name: tmp
  emptyDir: {}
{{- end }}
