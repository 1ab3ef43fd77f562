// Package usagehint tells the person at a terminal how to try the model that is served there.
package usagehint
