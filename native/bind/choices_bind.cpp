// Makes choice classes by calling Python's `type`.
#include "bind/choices.hpp"

#include "bind/fields.hpp"
#include "bind/parts.hpp"

namespace nb = nanobind;

namespace yantra {

namespace {

nb::handle& base() {
    static nb::handle made;
    return made;
}

nb::str words(nb::handle choice) {
    return nb::str("{}.{}").format(choice.type().attr("__qualname__"),
                                   nb::inst_ptr<Choice>(choice)->name);
}

nb::object by_name(nb::handle kind, const nb::object& name) {
    const nb::object members = kind.attr("__members__");
    return members[name];
}

}  // namespace

void register_choices(nb::module_& module) {
    Class<Choice> choice(module, "_Choice");
    choice.field("name", &Choice::name).field("value", &Choice::value);
    choice.def("__repr__", [](nb::handle self) { return words(self); });
    choice.attr("__class_getitem__") =
        nb::module_::import_("builtins").attr("classmethod")(nb::cpp_function(&by_name));
    base() = choice;
}

ChoiceClass make_choices(nb::handle scope, const char* name) {
    nb::dict body;
    body["__slots__"] = nb::tuple();
    body["__members__"] = nb::dict();
    const bool is_of_module = PyModule_Check(scope.ptr()) != 0;
    body["__module__"] = scope.attr(is_of_module ? "__name__" : "__module__");
    if (!is_of_module) {
        body["__qualname__"] = nb::str("{}.{}").format(scope.attr("__qualname__"), name);
    }
    const nb::handle type(reinterpret_cast<PyObject*>(&PyType_Type));
    const nb::object made = type(name, nb::make_tuple(base()), body);
    nb::setattr(scope, name, made);
    return {made.inc_ref(), {}};
}

void add_choice(ChoiceClass& to, const char* name, u32 value) {
    const nb::object made = nb::inst_alloc(to.type);
    new (nb::inst_ptr<Choice>(made)) Choice{name, value};
    nb::inst_mark_ready(made);
    nb::setattr(to.type, name, made);
    to.type.attr("__members__")[name] = made;
    to.members.push_back(made.inc_ref());
}

}  // namespace yantra
