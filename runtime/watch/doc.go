// Package watch tells which source and configuration files of a model's folder have changed.
//
// It promises: a change is reported once its content is another than before and nothing has been written for a moment, so
// a save is one report whatever the editor does for it; a file that is saved unchanged is none. It looks at *.py,
// cog.yaml, pyproject.toml, requirements*.txt and .cog/openapi_schema.json. What a model writes, such as pictures and
// caches, is none of these. Hidden folders, virtual environments, __pycache__, node_modules and site-packages are left out.
//
// It imports nothing of ours.
package watch
