// Command sink answers every request with 200 and keeps nothing: a collector that costs next to nothing.
package main
