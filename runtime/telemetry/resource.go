package telemetry

import (
	"maps"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Attributes of the resource, by the names of OpenTelemetry and Cog.
const (
	serviceName    = "service.name"
	serviceVersion = "service.version"
	instanceID     = "service.instance.id"
	processRole    = "cog.process.role"
)

// newResource says who sends. OTEL_RESOURCE_ATTRIBUTES may set all but the role.
// Without the instance's id, the metrics of several servers would be one series.
func (c *Config) newResource(version, instance, role string) *resource.Resource {
	attrs := []attribute.KeyValue{
		attribute.String("telemetry.sdk.language", "go"),
		attribute.String("telemetry.sdk.name", "opentelemetry"),
		attribute.String("telemetry.sdk.version", otel.Version()),
		attribute.String(serviceVersion, version),
		attribute.String(instanceID, instance),
	}
	for _, name := range slices.Sorted(maps.Keys(c.Resource)) {
		attrs = append(attrs, attribute.String(name, c.Resource[name]))
	}
	attrs = append(attrs, attribute.String(serviceName, c.Service), attribute.String(processRole, role))
	return resource.NewSchemaless(attrs...) // of two with one name the last counts
}
