package diff

import (
	"encoding/base64"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"stagger/edge/provision"
	"stagger/host/settings"
)

// Hidden stands for a secret.
const Hidden = "(hidden)"

// secretName says whether a parameter or a field is a secret by its name.
func secretName(name string) bool { return secretNames.MatchString(name) }

var (
	secretNames = regexp.MustCompile(`(?i)pass|pwd|pswd|secret|token|credential|aes_?key|private_?key|(^|[^a-z])pin([^a-z]|$)`)
	// A token is 30 of these characters and a password for the provisioning URL 26. A
	// core of other code may make them in another way, but not of another look.
	tokens = regexp.MustCompile(`[a-z2-7]{26,}`)
	// A user with a password in a URL, and a query; some files have a URL without its
	// scheme.
	users   = regexp.MustCompile(`://[^/\s]*@`)
	queries = regexp.MustCompile(`\?\S*=\S*`)
)

// A mask knows the secrets of one device.
type mask struct {
	// hidden are those that hide the whole value they are in.
	hidden []string
}

func (w *worker) newMask(phones ...*phone) *mask {
	m := &mask{}
	for _, p := range phones {
		m.hidden = append(m.hidden, p.tenant.secrets...)
		m.hidden = secrets(m.hidden, gjson.Parse(p.text), w.secretName)
		if p.tenant.auth == "basic" {
			m.hidden = append(m.hidden, provision.Password(w.Keys[0], p.tenant.id, p.mac, p.generation))
		}
	}
	return m
}

// secretName is that of the package. Documents have the same few names again and again.
func (w *worker) secretName(name string) bool {
	is, known := w.names[name]
	if !known {
		is = secretName(name)
		w.names[strings.Clone(name)] = is
	}
	return is
}

// value is what may be shown of a value. nil, which is none, stays it.
func (m *mask) value(path string, value *string) *string {
	if value == nil || *value == "" {
		return value
	}
	text := m.text(path, *value)
	return &text
}

func (m *mask) text(path, value string) string {
	if secretName(settings.Name(path)) {
		return Hidden
	}
	for _, secret := range m.hidden {
		if strings.Contains(value, secret) {
			return Hidden
		}
	}
	// What somebody has put into a URL to be let in.
	value = users.ReplaceAllString(value, "://"+Hidden+"@")
	value = queries.ReplaceAllString(value, "?"+Hidden)
	return tokens.ReplaceAllString(value, Hidden)
}

// authorization is the header that a phone shows its password with.
func (w *worker) authorization(p *phone) string {
	password := provision.Password(w.Keys[0], p.tenant.id, p.mac, p.generation)
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(p.mac+":"+password))
}
