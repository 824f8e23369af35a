package serve

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"stagger/edge/wire"
)

// maxPath is how much of a path the log shows, in bytes.
const maxPath = 128

// loggedPath is the path of a target as the log may show it. The second segment
// is where the token belongs and is always replaced, whatever it is. A token also
// ends up elsewhere, when a URL was cut or put together wrongly, so any other
// segment is shown only if it looks like a tenant or a file name and holds
// nothing that could be a good part of a token.
func loggedPath(target string) string {
	path, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(path, "/") {
		return "-"
	}
	var b strings.Builder
	for i, segment := range strings.Split(path[1:], "/") {
		if b.Len() > maxPath {
			return b.String() + "..."
		}
		b.WriteByte('/')
		if i == 1 || !showable(segment) {
			segment = "-"
		}
		b.WriteString(segment)
	}
	return b.String()
}

// showable refuses a run of 16 letters and digits: a MAC has 12, a token 30. Of a
// token, 15 characters leave 55 bits unknown.
func showable(segment string) bool {
	if len(segment) > maxPath/2 {
		return false
	}
	run := 0
	for _, c := range []byte(segment) {
		switch {
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			if run++; run == 16 {
				return false
			}
		case c == '.' || c == '-' || c == '_':
			run = 0
		default:
			return false
		}
	}
	return true
}

// agents are the words by which a User-Agent is classified, in this order.
var agents = []string{
	"yealink", "snom", "grandstream", "poly", "cisco", "fanvil", "gigaset", "panasonic", "mitel", "aastra",
	"htek", "sangoma", "digium", "obihai", "audiocodes", "avaya", "alcatel", "mozilla", "curl", "wget", "python",
}

// AgentClass says what kind of client it is. The User-Agent itself is a client's
// bytes and is not logged.
func AgentClass(userAgent string) string {
	if userAgent == "" {
		return "none"
	}
	lower := strings.ToLower(userAgent)
	for _, word := range agents {
		if strings.Contains(lower, word) {
			return word
		}
	}
	return "other"
}

// methodClass is the method as the log may show it.
func methodClass(method string) string {
	switch method {
	case "GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND":
		return method
	}
	return "other"
}

// record is the access log's line for one request.
func record(r *http.Request, response *wire.Response, documents string, written int, took time.Duration, client netip.Addr) []slog.Attr {
	attrs := make([]slog.Attr, 0, 20)
	attrs = append(attrs,
		slog.String("method", methodClass(r.Method)),
		slog.String("path", loggedPath(r.RequestURI)),
		slog.Int("status", int(response.Status)),
		slog.Int("bytes", written),
		slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.String("remote", client.String()),
		slog.String("agent", AgentClass(r.UserAgent())),
	)
	for _, field := range response.Audit {
		attrs = append(attrs, slog.String(field.Name, field.Value))
	}
	if documents != "" {
		attrs = append(attrs, slog.String("documents", documents))
	}
	return attrs
}
