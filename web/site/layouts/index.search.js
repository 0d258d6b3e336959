{{- /* The text of each section, for search.js. */ -}}
{{- $sections := slice -}}
{{- range site.RegularPages -}}
  {{- $page := . -}}
  {{- $url := print (strings.TrimSuffix ".md" .File.Path) ".html" -}}
  {{- $title := partial "title.html" . -}}
  {{- range $i, $text := split .RawContent "\n## " -}}
    {{- $lines := split $text "\n" -}}
    {{- $heading := cond (eq $i 0) "" (index $lines 0) -}}
    {{- $plain := delimit (after 1 $lines) " " | replaceRE `\]\([^)]*\)` "" | replaceRE "<[^>]*>|[|]" " " | replaceRE "[`*\\[\\]]" "" | replaceRE `\s+` " " -}}
    {{- $anchor := cond (eq $i 0) "" (print "#" (anchorize $heading)) -}}
    {{- $sections = $sections | append (dict "title" $title "heading" (replaceRE "`" "" $heading) "url" (print $url $anchor) "text" $plain) -}}
  {{- end -}}
{{- end -}}
window.weirSections = {{ $sections | jsonify }};
