package pack

// Generation is a range of firmware that is configured alike, up to where the next
// one begins.
type Generation struct {
	// Name is a word that a template may ask for, among the features of the model.
	Name string
	// From is the first version: numbers with dots between, of which "*" may be any.
	From string
}

// Generation returns that of a firmware. An empty firmware has the model's. It
// returns nil for a firmware that is older than all of them, or has fewer numbers
// than they have.
func (p *Pack) Generation(m *Model, firmware string) *Generation {
	for i := len(p.Generations) - 1; i >= 0; i-- {
		g := &p.Generations[i]
		switch {
		case firmware != "":
			if g.Since(firmware) {
				return g
			}
		case m.Generation == "" || m.Generation == g.Name:
			return g
		}
	}
	return nil
}

// Since says whether a firmware is from the first version of the generation on. One
// with fewer numbers is not: it may be anything.
func (g *Generation) Since(firmware string) bool {
	order := 0
	for from := g.From; from != ""; {
		var number, bound int
		if number, firmware = leading(firmware); number < 0 {
			return false
		}
		if bound, from = leading(from); order == 0 && bound >= 0 {
			order = number - bound
		}
	}
	return order >= 0
}

// leading is the first number of a version, and what comes behind the dot. It is
// negative where there is none.
func leading(version string) (number int, rest string) {
	i := 0
	for ; i < len(version) && i < 9 && version[i] >= '0' && version[i] <= '9'; i++ {
		number = number*10 + int(version[i]-'0')
	}
	if i == 0 {
		number = -1
	}
	for i < len(version) && version[i] != '.' {
		i++
	}
	return number, version[min(i+1, len(version)):]
}

// Agent reads a User-Agent: which model the phone says it is, and which firmware it
// says it has. model is nil where no pattern fits. own is the model that it should
// be, which is looked for first.
//
// A pattern is the beginning of a User-Agent, in any letter case. In it {model} is
// the name of a model, in which "_" and "-" do not count, {firmware} a version, "*" what
// there is up to the character behind it, and a blank one or more of them.
func (p *Pack) Agent(agent string, own *Model) (model *Model, firmware string) {
	if firmware, ok := p.claims(agent, own.Name); ok {
		return own, firmware
	}
	for i := range p.Models {
		if firmware, ok := p.claims(agent, p.Models[i].Name); ok {
			return &p.Models[i], firmware
		}
	}
	return nil, ""
}

// claims says whether a User-Agent is that of this model.
func (p *Pack) claims(agent, model string) (firmware string, ok bool) {
	for _, pattern := range p.Agents {
		if firmware, ok = match(pattern, agent, model); ok {
			return firmware, true
		}
	}
	return "", false
}

func match(pattern, agent, model string) (firmware string, ok bool) {
	for pattern != "" {
		n, taken := 0, 1
		switch {
		case begins(pattern, "{model}"):
			n, taken = spelled(agent, model), len("{model}")
		case begins(pattern, "{firmware}"):
			for n < len(agent) && (agent[n] >= '0' && agent[n] <= '9' || agent[n] == '.' && n > 0) {
				n++
			}
			firmware, taken = agent[:n], len("{firmware}")
		case pattern[0] == '*':
			for n < len(agent) && agent[n] != ' ' && (len(pattern) == 1 || agent[n] != pattern[1]) {
				n++
			}
		case pattern[0] == ' ':
			for n < len(agent) && agent[n] == ' ' {
				n++
			}
		case agent != "" && lower(agent[0]) == lower(pattern[0]):
			n = 1
		}
		if n == 0 {
			return "", false
		}
		pattern, agent = pattern[taken:], agent[n:]
	}
	return firmware, true
}

// spelled is how many bytes of text are the model's name, and not that of a longer
// one; 0 where they are not.
func spelled(text, model string) int {
	n := 0
	for i := range len(model) {
		if model[i] == '_' || model[i] == '-' {
			continue
		}
		for n > 0 && n < len(text) && (text[n] == '_' || text[n] == '-') {
			n++
		}
		if n == len(text) || lower(text[n]) != lower(model[i]) {
			return 0
		}
		n++
	}
	if n < len(text) && (text[n] >= '0' && text[n] <= '9' || lower(text[n]) >= 'a' && lower(text[n]) <= 'z') {
		return 0
	}
	return n
}

func begins(s, with string) bool { return len(s) >= len(with) && s[:len(with)] == with }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
