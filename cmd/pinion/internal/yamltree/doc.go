// Package yamltree reads YAML into a tree whose values know their kind and line, so that a mistake can be named where
// it stands. It takes files with mistakes too: a key that is given twice is in the tree twice.
package yamltree
