#pragma once

#include <vector>

namespace wick {

struct GrammarDocument {
  const char* name;
  const char* schema;
  const char* text;
};

// Schemas as they are sent to models: tool calls, extraction, classification, forms, nested records, recursion.
inline const std::vector<GrammarDocument>& grammar_documents() {
  static const std::vector<GrammarDocument> kDocuments =
      {
          {"weather_tool",
           R"({"type":"object","properties":{"name":{"const":"get_weather"},"arguments":{"type":"object","properties":{
           "location":{"type":"string","description":"City and country"},"unit":{"enum":["celsius","fahrenheit"]},
           "days":{"type":"integer","minimum":1,"maximum":14}},"required":["location"],"additionalProperties":false}},
           "required":["name","arguments"],"additionalProperties":false})",
           R"({"name": "get_weather", "arguments": {"location": "Reykjavík, Iceland", "unit": "celsius", "days": 7}})"},
          {"any_tool",
           R"({"anyOf":[
           {"type":"object","properties":{"tool":{"const":"search"},"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["tool","query"],"additionalProperties":false},
           {"type":"object","properties":{"tool":{"const":"open_file"},"path":{"type":"string"},"line":{"type":["integer","null"]}},"required":["tool","path"],"additionalProperties":false},
           {"type":"object","properties":{"tool":{"const":"send_mail"},"to":{"type":"array","items":{"type":"string","format":"email"}},"subject":{"type":"string","maxLength":120},"body":{"type":"string"}},"required":["tool","to","subject","body"],"additionalProperties":false}]})",
           R"({"tool": "send_mail", "to": ["anna.berg@example.org", "team-lead@mail.example.com"], "subject": "Minutes of the meeting on Thursday", "body": "Dear all,\n\nplease find the minutes below. We agreed to ship the first version in March, and to look at the performance figures again the week after.\n\nBest regards"})"},
          {"person",
           R"({"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Person","type":"object","properties":{
           "id":{"type":"string","format":"uuid"},"name":{"type":"string","minLength":1,"maxLength":80},
           "age":{"type":"integer","minimum":0,"maximum":150},"email":{"type":"string","format":"email"},
           "birthday":{"type":"string","format":"date"},"tags":{"type":"array","items":{"type":"string"},"maxItems":10},
           "address":{"$ref":"#/$defs/address"},"phone":{"type":"string","pattern":"^\\+?[0-9 -]{7,20}$"},
           "active":{"type":"boolean"},"score":{"type":"number","minimum":0,"maximum":1}},
           "required":["id","name","age","address"],
           "$defs":{"address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},
             "zip":{"type":"string","pattern":"^[0-9]{5}$"},"country":{"type":"string","pattern":"^[A-Z]{2}$"}},
             "required":["street","city"],"additionalProperties":false}},"additionalProperties":false})",
           R"({
  "id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
  "name": "Margarethe von Hohenstein-Lindqvist",
  "age": 42,
  "email": "m.hohenstein@uni-example.de",
  "birthday": "1983-02-28",
  "tags": ["physics", "quantum optics", "mountaineering", "公園"],
  "address": {"street": "Lange Straße 14", "city": "Göttingen", "zip": "37073", "country": "DE"},
  "phone": "+49 551 1234567",
  "active": true,
  "score": 0.875
})"},
          {"extraction",
           R"({"type":"object","properties":{"title":{"type":"string"},"summary":{"type":"string","maxLength":600},
           "entities":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},
             "kind":{"enum":["person","organisation","place","date","amount","product"]},
             "confidence":{"type":"number","minimum":0,"maximum":1}},"required":["text","kind"],"additionalProperties":false}},
           "sentiment":{"enum":["positive","neutral","negative","mixed"]},"language":{"type":"string","pattern":"^[a-z]{2}(-[A-Z]{2})?$"}},
           "required":["title","summary","entities","sentiment"],"additionalProperties":false})",
           R"({"title": "Chip maker opens plant near Dresden", "summary": "The company said on Tuesday that production at its new plant would begin in the second quarter. About two thousand people are to work there by the end of next year; suppliers from the region have signed contracts worth 1.2 billion euros.", "entities": [{"text": "Dresden", "kind": "place", "confidence": 0.98}, {"text": "Tuesday", "kind": "date"}, {"text": "1.2 billion euros", "kind": "amount", "confidence": 0.91}], "sentiment": "positive", "language": "en-GB"})"},
          {"invoice",
           R"({"type":"object","properties":{"number":{"type":"string","pattern":"^INV-[0-9]{4}-[0-9]{3,6}$"},
           "issued":{"type":"string","format":"date-time"},"currency":{"enum":["EUR","USD","GBP","JPY","CHF"]},
           "lines":{"type":"array","minItems":1,"items":{"type":"object","properties":{"description":{"type":"string"},
             "quantity":{"type":"integer","minimum":1},"price":{"type":"number","minimum":0,"multipleOf":0.01},
             "vat":{"enum":[0,7,19]}},"required":["description","quantity","price"],"additionalProperties":false}},
           "total":{"type":"number","exclusiveMinimum":0},"paid":{"type":["boolean","null"]},"notes":{"anyOf":[{"type":"string"},{"type":"null"}]}},
           "required":["number","issued","currency","lines","total"],"additionalProperties":false})",
           R"({"number":"INV-2024-00317","issued":"2024-06-30T09:15:00Z","currency":"EUR","lines":[{"description":"Server rack, 42U, with side panels","quantity":2,"price":1499.99,"vat":19},{"description":"Installation","quantity":6,"price":95.5}],"total":3572.98,"paid":null,"notes":"Delivery to the back entrance; please ring twice."})"},
          {"tree",
           R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"name":{"type":"string"},
           "value":{"type":"number"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},
           "required":["name"],"additionalProperties":false}}})",
           R"({"name": "root", "children": [{"name": "left branch", "value": 1.5, "children": [{"name": "leaf one", "value": -3e10}, {"name": "leaf two"}]}, {"name": "right", "children": [{"name": "deep", "children": [{"name": "deeper", "children": [{"name": "deepest", "value": 0}]}]}]}]})"},
          {"reasoning_steps",
           R"({"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{
           "explanation":{"type":"string"},"output":{"type":"string"}},"required":["explanation","output"],"additionalProperties":false}},
           "final_answer":{"type":"string"}},"required":["steps","final_answer"],"additionalProperties":false})",
           R"({"steps":[{"explanation":"Start with the equation 8x + 7 = -23 and subtract 7 from both sides, so that only the term with x is left.","output":"8x = -30"},{"explanation":"Divide both sides by 8 to isolate x; the fraction can be shortened by 2.","output":"x = -30/8 = -15/4"}],"final_answer":"x = -3.75"})"},
          {"open_object",
           R"({"type":"object","properties":{"kind":{"type":"string"},"version":{"type":"integer"}},"required":["kind"],
           "additionalProperties":{"type":["string","number","boolean"]}})",
           R"({"kind": "configuration", "version": 3, "colour of the sky": "blue", "retries": 5, "verbose": false, "kinder": "yes"})"},
          {"any_json",
           R"(true)", R"({"users": [{"id": 1, "name": "Ann \"the hammer\" Lee", "roles": ["admin", "editor"], "quota": {"disk": 1.5e9, "files": null}}, {"id": 2, "name": "Bo", "roles": [], "quota": {}}], "next": "/users?page=2", "nested": [[1, 2], [3, [4, [5]]]]})"},
          {"classification",
           R"({"type":"object","properties":{"label":{"enum":["billing","technical issue","account access","feature request","complaint","praise","spam","other"]},"confidence":{"enum":["low","medium","high"]},"reasons":{"type":"array","items":{"type":"string","maxLength":200},"minItems":1,"maxItems":3}},"required":["label","confidence","reasons"],"additionalProperties":false})",
           R"({"label": "technical issue", "confidence": "high", "reasons": ["The customer writes that the program stops with an error after the update.", "A log file is attached, with the words \"segmentation fault\"."]})"},
      };
  return kDocuments;
}

}  // namespace wick
