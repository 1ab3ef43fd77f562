package openai

import "pinion/runtime/rawjson"

// Member returns a member of an object, or nil.
func Member(object []byte, name string) (found []byte) {
	for key, value := range rawjson.Members(object) {
		if rawjson.KeyIs(key, name) {
			found = value
		}
	}
	return found
}
