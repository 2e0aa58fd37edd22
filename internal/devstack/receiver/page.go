package receiver

import (
	"bytes"
	"html/template"
	"net/http"
)

// page is the same summary for people. It asks for itself again every few seconds.
func (r *Receiver) page(w http.ResponseWriter, _ *http.Request) {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		http.Error(w, "the page cannot be read", http.StatusInternalServerError)
		return
	}
	var text bytes.Buffer
	if err := t.Execute(&text, r.Summary()); err != nil {
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	_, _ = w.Write(text.Bytes())
}

const pageText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="3">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Notices received</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-top: 1px solid #ddd; }
code { font-size: 14px; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>Notices received</h1>
<p>This stands for the service that tells your customers. It acts once for each idempotency key: a copy gets the
first answer again and counts as a replay.</p>
<p>{{.Total}} received, {{.Replays}} replays. As JSON: <a href="/notices">/notices</a></p>
{{if .Notices}}
<table>
<thead><tr><th>received</th><th>notice</th><th>idempotency key</th><th>replays</th></tr></thead>
<tbody>
{{range .Notices}}<tr>
<td><time>{{.ReceivedAt.Format "15:04:05"}}</time><br>{{.ID}}</td>
<td><code>{{printf "%s" .Body}}</code></td>
<td><code>{{.IdempotencyKey}}</code></td>
<td>{{.Replays}}</td>
</tr>
{{end}}</tbody>
</table>
{{else}}<p>None yet. Send one: <code>oncehook send stripe invoice.paid</code></p>
{{end}}
</body>
</html>
`
