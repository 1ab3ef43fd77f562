package schema

import "slices"

// mark finishes the nodes that roots reach, and returns them: it tells each node what lies below it. It reports whether a
// schema contains itself without going into a member or an item, which no value could satisfy and no walk would end in.
func mark(roots []*node) (all []*node, endless bool) {
	seen := map[*node]bool{}
	var gather func(n *node)
	gather = func(n *node) {
		if seen[n] {
			return
		}
		seen[n] = true
		all = append(all, n)
		for _, child := range n.children() {
			gather(child)
		}
	}
	for _, n := range roots {
		gather(n)
	}

	if cyclic(all) {
		return nil, true
	}
	for changed := true; changed; {
		changed = false
		for _, n := range all {
			uri, secret := n.hasURI || n.uri, n.hasSecret || n.secret
			for _, child := range n.children() {
				uri = uri || child.hasURI
				secret = secret || child.hasSecret
			}
			if uri != n.hasURI || secret != n.hasSecret {
				n.hasURI, n.hasSecret = uri, secret
				changed = true
			}
		}
	}
	return all, false
}

// cyclic tells whether a node among all judges the same value by way of itself.
func cyclic(all []*node) bool {
	const open, done = 1, 2
	state := map[*node]int{}
	var visit func(n *node) bool
	visit = func(n *node) bool {
		state[n] = open
		for _, child := range n.inPlace() {
			if state[child] == open || state[child] == 0 && visit(child) {
				return true
			}
		}
		state[n] = done
		return false
	}
	return slices.ContainsFunc(all, func(n *node) bool { return state[n] == 0 && visit(n) })
}

// inPlace are the schemas that judge the same value as n.
func (n *node) inPlace() []*node {
	list := append(append([]*node{}, n.allOf...), n.anyOf...)
	if n.rare != nil {
		list = append(list, n.rare.inPlace()...)
	}
	return list
}

// children are all schemas directly below n.
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
