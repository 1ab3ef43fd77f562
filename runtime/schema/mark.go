package schema

import "slices"

// mark finishes the nodes that roots reach, and returns them: it sets hasURI, hasSecret and hasLoose of each. endless: a
// schema contains itself without a member or item between, so no value could be checked.
func mark(roots []*node) (nodes []*node, endless bool) {
	seen := map[*node]bool{}
	var gather func(n *node)
	gather = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		nodes = append(nodes, n)
		for _, child := range n.children() {
			gather(child)
		}
	}
	for _, n := range roots {
		gather(n)
	}

	if cyclic(nodes) {
		return nil, true
	}
	for changed := true; changed; {
		changed = false
		for _, n := range nodes {
			uri, secret, loose := n.hasURI || n.namesFile(), n.hasSecret || n.secret, n.hasLoose || n.loose
			for _, child := range n.children() {
				uri = uri || child.hasURI
				secret = secret || child.hasSecret
				loose = loose || child.hasLoose
			}
			if uri != n.hasURI || secret != n.hasSecret || loose != n.hasLoose {
				n.hasURI, n.hasSecret, n.hasLoose = uri, secret, loose
				changed = true
			}
		}
	}
	return nodes, false
}

// cyclic reports whether a node among all applies itself to the same value.
func cyclic(nodes []*node) bool {
	const open, done = 1, 2
	state := map[*node]int{}
	var walk func(n *node) bool
	walk = func(n *node) bool {
		state[n] = open
		for _, child := range n.inPlace() {
			if state[child] == open || state[child] == 0 && walk(child) {
				return true
			}
		}
		state[n] = done
		return false
	}
	return slices.ContainsFunc(nodes, func(n *node) bool { return state[n] == 0 && walk(n) })
}

// inPlace returns the schemas that apply to the same value as n.
func (n *node) inPlace() []*node {
	return slices.Concat(n.allOf, n.choices())
}

// children returns all schemas directly below n.
func (n *node) children() []*node {
	list := n.inPlace()
	for _, p := range n.properties {
		list = append(list, p.node)
	}
	if n.items != nil {
		list = append(list, n.items)
	}
	if n.additional != nil {
		list = append(list, n.additional)
	}
	if n.rare != nil {
		list = append(list, n.rare.below()...)
	}
	return list
}
