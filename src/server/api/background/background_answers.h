#pragma once

#include <string>

#include "server/api/fields.h"

namespace wick {

// DELETE /v1/responses/{id}.
struct DeletedResponse {
  std::string id;
  std::string object = "response";
  bool deleted = true;

  static const Fields<DeletedResponse>& fields() {
    using R = DeletedResponse;
    static const Fields<R> fields = Fields<R>("DeletedResponse", BodyUse::kResponse)
                                        .add("id", &R::id, "Of what is gone.")
                                        .add("object", &R::object, "")
                                        .add("deleted", &R::deleted, "");
    return fields;
  }
};

}  // namespace wick
