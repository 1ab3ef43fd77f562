package server

import (
	"slices"
	"strings"

	"pinion/httpd/place"
	"pinion/httpd/protocol"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/live"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/predict"
)

var _ jobqueue.Checker = (*gatewayModel)(nil)

// SetSchema implements jobqueue.Checker. The first schema of a version makes it known.
func (m *gatewayModel) SetSchema(s state.Schema) {
	if s.Model == "" {
		m.requestChecker.SetSchema(s)
		return
	}
	v := m.findVersion(s.Model)
	isNew := v == nil
	if isNew {
		v = m.newVersion(s.Model)
	}
	if s.OpenAPI != nil {
		v.requestChecker.SetSchema(s)
	}
	if isNew {
		m.addVersion(v)
	}
}

// Check implements jobqueue.Checker.
func (m *gatewayModel) Check(req *predict.Request, most int) (input []byte, warnings []string, err error) {
	if v := m.findVersion(req.Version); v != nil {
		m = v
	}
	return m.requestChecker.Check(req, most)
}

// newVersion makes a version of the model: its requests name it.
func (m *gatewayModel) newVersion(version string) *gatewayModel {
	v := &gatewayModel{
		requestChecker: newRequestChecker(m.g.files, m.g.log), g: m.g, name: m.name + "@" + version, version: version,
		member: m.member, metrics: m.metrics,
	}
	v.known = protocol.NewModel(v.name, v)
	v.known.Version = version
	return v
}

// addVersion lets requests find a version.
func (m *gatewayModel) addVersion(v *gatewayModel) {
	g := m.g
	g.routing.Lock()
	versions := append(slices.Clone(m.allVersions()), v)
	slices.SortFunc(versions, func(a, b *gatewayModel) int { return strings.Compare(a.version, b.version) })
	m.versions.Store(&versions)
	g.routing.Unlock()
	g.showModels()
}

// allVersions returns the versions that servers have told of; none: the model has none, or no server has told yet.
func (m *gatewayModel) allVersions() []*gatewayModel {
	if versions := m.versions.Load(); versions != nil {
		return *versions
	}
	return nil
}

func (m *gatewayModel) findVersion(version string) *gatewayModel {
	for _, v := range m.allVersions() {
		if v.version == version {
			return v
		}
	}
	return nil
}

// knownVersions returns the versions as other protocols know them.
func (m *gatewayModel) knownVersions() (known []*protocol.Model) {
	for _, v := range m.allVersions() {
		known = append(known, v.known)
	}
	if known == nil {
		known = append(known, m.known)
	}
	return known
}

// queue returns the model's, for requests that name the version, where it is one.
func (m *gatewayModel) queue() place.Queue {
	if m.version != "" {
		return jobqueue.Version{Member: m.member, Name: m.version}
	}
	return m.member
}

// slotsOf returns how many slots a server has for the model, or the version; false means it has not that version.
func (m *gatewayModel) slotsOf(s *live.NamedStatus) (slots int, ok bool) {
	if m.version == "" {
		return s.Slots, true
	}
	slots, ok = s.Versions[m.version]
	return slots, ok
}

// showModels lets requests find the models that there are now.
func (g *gateway) showModels() {
	g.routing.Lock()
	defer g.routing.Unlock()
	if g.http != nil {
		g.http.SetModels(g.httpModels())
	}
}
