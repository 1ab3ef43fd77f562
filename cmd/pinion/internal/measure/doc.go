// Package measure measures the predictions of a server, for 'pinion bench': it finds an input, tries it, applies load, and
// reports.
package measure
