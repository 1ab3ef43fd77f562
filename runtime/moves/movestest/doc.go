// Package movestest tests state machines. It is apart from moves so that only tests import testing.
package movestest
