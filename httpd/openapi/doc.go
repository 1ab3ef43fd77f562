// Package openapi completes a model's OpenAPI document with the server's name and routes, and each status and media
// type of their answers.
//
// Guarantees:
//
//   - The content and order of the model's document do not change, except the title "Cog", which becomes the model's
//     name. A client that reads the document of Cog's server can read this one.
//   - A complete document does not change: a model may bring the output of `pinion schema`.
//   - Each added $ref points to a component that is added too.
//
// The additions are OpenAPI, in server.json, predictions.json and protocols.json. The second serves for trainings too,
// and the third is of the other protocols. What several places of a file have in common is in its member "shared"; the
// document has it in each of them. The model's example is in the model's document, as the `example` of its input.
//
// It knows neither the server nor the network. httpd and cmd import it.
package openapi
