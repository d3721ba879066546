#include "bind/fields.hpp"

namespace nb = nanobind;

namespace yantra {

void* FieldPlace::in(nb::handle object) const {
    if (!nb::isinstance(object, type) || !nb::inst_ready(object)) {
        throw nb::type_error("a field of an object that is not of its class");
    }
    return static_cast<std::byte*>(nb::inst_ptr<void>(object)) + offset;
}

}  // namespace yantra
