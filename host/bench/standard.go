package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"text/template"

	"stagger/edge/pack/source"
	"stagger/edge/spread"
	"stagger/edge/zone"
)

// The same job with the standard library, as one would write it without this
// project: encoding/json into structs, text/template over structs. It runs the
// same template source and must give the same bytes. It is spared the validation
// that the core does.
type standard struct {
	template *template.Template
	models   map[string]source.Model
	codecs   []string
}

type stdTimer struct{ Interval, Window, Floor uint64 }

type stdTimers struct {
	Checkin, Register, Subscribe stdTimer
	Boot                         uint64
}

type stdLine struct {
	Enabled       *bool  `json:"enabled"`
	Server        string `json:"server"`
	Port          int    `json:"port"`
	Transport     string `json:"transport"`
	OutboundProxy string `json:"outbound_proxy"`
	OutboundPort  int    `json:"outbound_port"`
	Register      uint64 `json:"register"`
	Srtp          string `json:"srtp"`
	Voicemail     string `json:"voicemail"`
	Mwi           *bool  `json:"mwi"`
	Index         int    `json:"index"`
	User          string `json:"user"`
	AuthUser      string `json:"auth_user"`
	Password      string `json:"password"`
	Label         string `json:"label"`
	DisplayName   string `json:"display_name"`
	Registration  uint64 `json:"-"`
}

type stdKey struct {
	Module, Index, Line        int
	Type, Value, Label, Pickup string
}

type stdSettings struct {
	Vendor        string    `json:"vendor"`
	Model         string    `json:"model"`
	TimeZone      string    `json:"time_zone"`
	Language      string    `json:"language"`
	Ntp           []string  `json:"ntp"`
	AdminPassword string    `json:"admin_password"`
	PickupCode    string    `json:"pickup_code"`
	FirmwareUrl   string    `json:"firmware_url"`
	Keys          []stdKey  `json:"keys"`
	Timers        stdTimers `json:"timers"`
	Phonebook     struct{ Name, Url string }
}

type stdTenant struct {
	stdSettings
	Tenant string
	Url    string
	Line   stdLine
}

type stdDevice struct {
	stdSettings
	Device, Tenant string
	Generation     uint16
	Lines          []stdLine
}

type stdChange struct {
	Month, Week, IsoWeekday, Hour int
	Whole                         bool
}

type stdZone struct {
	Sign                 string
	Hours, Minutes, Save int
	Dst                  bool
	Start, End           stdChange
}

type stdPhone struct {
	stdSettings
	Mac, Url                 string
	ProvisioningPassword     string
	Checkin, Subscribe, Boot uint64
	Zone                     *stdZone
	Lines                    []stdLine
	FreeLines, FreeKeys      []stdKey
	Codecs                   []struct {
		Name     string
		Enabled  bool
		Priority int
	}
	Extra    []struct{ Name, Value string }
	Features []string
}

func newStandard(vendors string) (*standard, error) {
	pack, err := source.Read(vendors + "/yealink")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(vendors + "/yealink/mac.cfg.tmpl")
	if err != nil {
		return nil, err
	}
	s := &standard{models: map[string]source.Model{}, codecs: pack.Codecs}
	for _, m := range pack.Models {
		s.models[m.Name] = m
	}
	s.template, err = template.New("mac.cfg.tmpl").Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b },
		"code": func(table, word string) (string, error) {
			if is, ok := pack.Tables[table][word]; ok {
				return is, nil
			}
			return "", fmt.Errorf("no %s", table)
		},
		"has": func(list []string, word string) bool {
			for _, w := range list {
				if w == word {
					return true
				}
			}
			return false
		},
		"fail": func(why string) (string, error) { return "", errors.New(why) },
	}).Parse(camel(string(text)))
	return s, err
}

// camel turns the fields of a template into the exported names of Go structs:
// .display_name into .DisplayName.
func camel(text string) string {
	field := regexp.MustCompile(`([ (.$a-z])\.([a-z_]+)`)
	action := regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	return action.ReplaceAllStringFunc(text, func(a string) string {
		if strings.HasPrefix(strings.TrimLeft(a, "{- "), "/*") {
			return a
		}
		for range 3 {
			a = field.ReplaceAllStringFunc(" "+a, func(f string) string {
				m := field.FindStringSubmatch(f)
				name := ""
				for _, word := range strings.Split(m[2], "_") {
					name += strings.ToUpper(word[:1]) + word[1:]
				}
				return m[1] + "." + name
			})[1:]
		}
		return regexp.MustCompile(`\{\{(-? ?)\.([a-z_]+)`).ReplaceAllStringFunc(a, func(f string) string {
			i := strings.IndexByte(f, '.')
			name := f[:i+1]
			for _, word := range strings.Split(f[i+1:], "_") {
				name += strings.ToUpper(word[:1]) + word[1:]
			}
			return name
		})
	})
}

// render does what the core does for a request: check the token, read the two
// documents, merge them, derive the timers, render.
func (s *standard) render(master []byte, token, mac string, tenantDocument, deviceDocument []byte) ([]byte, error) {
	var tenant stdTenant
	var device stdDevice
	if err := json.Unmarshal(tenantDocument, &tenant); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(deviceDocument, &device); err != nil {
		return nil, err
	}
	want := stdToken(master, tenant.Tenant, mac, device.Generation)
	if !hmac.Equal([]byte(want), []byte(token)) {
		return nil, errors.New("wrong token")
	}
	model := s.models[device.Model]
	p := stdPhone{stdSettings: tenant.stdSettings, Mac: mac, Features: model.Features,
		Url: tenant.Url + "/" + tenant.Tenant + "/" + token + "/"}
	p.Model, p.Keys = device.Model, device.Keys
	value := func(t stdTimer, interval, unit uint64, name string) uint64 {
		return spread.Timer{Interval: interval, Window: t.Window, Floor: t.Floor, Unit: unit, Min: 1}.For(mac, name).Units
	}
	p.Checkin = value(tenant.Timers.Checkin, tenant.Timers.Checkin.Interval, 60, "checkin")
	p.Subscribe = value(tenant.Timers.Subscribe, tenant.Timers.Subscribe.Interval, 1, "subscribe")
	p.Boot = tenant.Timers.Boot
	if rule := zone.Find(p.TimeZone); rule != nil {
		change := func(c zone.Change) stdChange {
			iso := int(c.Weekday)
			if iso == 0 {
				iso = 7
			}
			return stdChange{int(c.Month), int(c.Week), iso, int(c.Minute / 60), c.Minute%60 == 0}
		}
		sign, offset := "+", int(rule.Offset)
		if offset < 0 {
			sign, offset = "-", -offset
		}
		p.Zone = &stdZone{sign, offset / 60, offset % 60, int(rule.Save), rule.Save != 0, change(rule.Start), change(rule.End)}
	}
	yes := true
	for i, l := range device.Lines {
		l.Index = i + 1
		l.Server, l.Transport, l.Voicemail = tenant.Line.Server, tenant.Line.Transport, tenant.Line.Voicemail
		l.Srtp, l.Port, l.Mwi = "off", 5061, &yes
		l.AuthUser = l.User
		if l.DisplayName == "" {
			l.DisplayName = l.Label
		}
		l.Registration = value(tenant.Timers.Register, tenant.Timers.Register.Interval, 1, fmt.Sprintf("register.%d", l.Index))
		p.Lines = append(p.Lines, l)
	}
	for i := len(p.Lines) + 1; i <= int(model.Lines); i++ {
		p.FreeLines = append(p.FreeLines, stdKey{Index: i})
	}
	for i := range p.Keys {
		k := &p.Keys[i]
		k.Index = i + 1
		if k.Line == 0 {
			k.Line = 1
		}
		if k.Label == "" && k.Type == "line" {
			k.Label = p.Lines[k.Line-1].Label
		}
	}
	for i := len(p.Keys) + 1; i <= int(model.Keys); i++ {
		p.FreeKeys = append(p.FreeKeys, stdKey{Index: i})
	}
	var out bytes.Buffer
	err := s.template.Execute(&out, &p)
	return out.Bytes(), err
}

func stdToken(master []byte, tenant, mac string, generation uint16) string {
	sum := func(key []byte, message string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(message))
		return h.Sum(nil)
	}
	encoding := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
	id := sha256.Sum256(append([]byte("stagger key v1\x00"), master...))
	key := sum(master, "stagger tenant v1\x00"+tenant)
	code := sum(key, "stagger token v1\x00"+tenant+"\x00"+mac+"\x00"+string([]byte{byte(generation >> 8), byte(generation)}))
	letters := "abcdefghijklmnopqrstuvwxyz234567"
	return string([]byte{letters[id[0]>>3], letters[generation>>10&31], letters[generation>>5&31], letters[generation&31]}) +
		encoding.EncodeToString(code)[:26]
}
