// Package openapi completes a model's OpenAPI document with what the server adds: its name, its routes, and every status
// and media type that they answer with.
//
// It promises:
//
//   - What the model's document says stays as it is, in its order, but for the title "Cog", which becomes the model's
//     name. A client that reads the document of Cog's server reads this one unchanged.
//   - A document that is complete already stays as it is: a model may bring what `pinion schema` printed.
//   - Every $ref that is added leads to a component that is added with it.
//
// The additions are written as OpenAPI, in server.json and predictions.json; the latter also serves for trainings. The
// model's own example is in its part, as the `example` of its input.
//
// It knows neither the server nor the network. httpd and cmd import it.
package openapi
