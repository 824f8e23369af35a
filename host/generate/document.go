package generate

// The documents, with the fields that a made-up fleet uses.

type tenantDocument struct {
	Tenant        string           `json:"tenant"`
	URL           string           `json:"url"`
	Auth          string           `json:"auth,omitempty"`
	Place         string           `json:"place,omitempty"`
	TimeZone      string           `json:"time_zone,omitempty"`
	NTP           []string         `json:"ntp,omitempty"`
	AdminPassword string           `json:"admin_password,omitempty"`
	PickupCode    string           `json:"pickup_code,omitempty"`
	Phonebook     *phonebook       `json:"phonebook,omitempty"`
	Timers        map[string]timer `json:"timers,omitempty"`
	Line          *lineDefaults    `json:"line,omitempty"`
}

type phonebook struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type timer struct {
	Interval int `json:"interval"`
	Window   int `json:"window"`
	Floor    int `json:"floor"`
}

type lineDefaults struct {
	Server    string `json:"server"`
	Transport string `json:"transport"`
	SRTP      string `json:"srtp,omitempty"`
	Voicemail string `json:"voicemail,omitempty"`
}

type deviceDocument struct {
	Device     string           `json:"device"`
	Tenant     string           `json:"tenant"`
	Vendor     string           `json:"vendor"`
	Model      string           `json:"model"`
	State      string           `json:"state,omitempty"`
	Generation int              `json:"generation,omitempty"`
	Language   string           `json:"language,omitempty"`
	TimeZone   string           `json:"time_zone,omitempty"`
	Codecs     []string         `json:"codecs,omitempty"`
	Timers     map[string]timer `json:"timers,omitempty"`
	Lines      []line           `json:"lines"`
	Keys       []key            `json:"keys,omitempty"`
}

type line struct {
	User        string `json:"user"`
	Password    string `json:"password"`
	Label       string `json:"label,omitempty"`
	DisplayName string `json:"display_name,omitempty"`
	Register    int    `json:"register,omitempty"`
}

type key struct {
	Module int    `json:"module,omitempty"`
	Index  int    `json:"index,omitempty"`
	Type   string `json:"type"`
	Line   int    `json:"line,omitempty"`
	Value  string `json:"value,omitempty"`
	Label  string `json:"label,omitempty"`
}

// A region is where a tenant is, and what is spoken there.
type region struct{ zone, language string }

// Words that fleets are made of. The regions have time zones of both hemispheres, with
// and without summer time, that all phones know.
var (
	regions = []region{
		{"Europe/Berlin", "de"}, {"Europe/Vienna", "de"}, {"Europe/Paris", "fr"}, {"Europe/London", "en"}, {"Europe/Rome", "it"},
		{"Europe/Madrid", "es"}, {"Europe/Belgrade", "en"}, {"Europe/Warsaw", "pl"}, {"America/New_York", "en"}, {"America/Chicago", "en"},
		{"America/Phoenix", "en"}, {"America/Sao_Paulo", "pt"}, {"Australia/Sydney", "en"}, {"Asia/Kolkata", "en"}, {"Asia/Tokyo", "en"},
	}
	places = []string{
		"north", "south", "harbour", "station", "market", "bridge", "meadow", "castle", "river", "garden", "mill", "forest", "hill", "lake",
	}
	names = []string{
		"Ada", "Bob", "Carol", "Dana", "Emil", "Franka", "Grace", "Hugo", "Ida", "Jonas", "Karin", "Łucja", "Mia", "Nils", "Olga", "Pavel",
		"Quentin", "Rosa", "Søren", "Tom", "Uma", "Vera", "Wim", "Xenia", "Yusuf", "Zoë",
	}
	departments = []string{"Sales", "Support", "R&D", "Accounts", "Legal", "Purchasing", "Workshop", "Dispatch", "Front office", "IT"}
	rooms       = []string{"Reception", "Lobby", "Meeting room 1", "Meeting room 2", "Canteen", "Loading bay", "Lift", "Gate (night)", "O'Neil & Sons", "日本 支店"}
)
