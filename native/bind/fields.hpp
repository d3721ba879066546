// Class: a class for Python whose fields are read and written by one function for all fields of a type.
//
// def_ro and def_rw of nanobind make functions for each class and each type in it, which was a tenth of
// what the bindings cost the compiler. Trade-off: here a field is found by its place, so the function
// itself looks whether its object is of the class. Fields come first: what nb::class_ defines after them
// gives an nb::class_.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "bind/columns.hpp"

namespace yantra {

// Where a field is: in what class of Python, and how far from the start of its object.
struct FieldPlace {
    nanobind::handle type;
    std::size_t offset;

    // The field of an object; nb::type_error where the object is not of the class, or not made yet.
    void* in(nanobind::handle object) const;
};

// What stands for any class where only the fields matter.
struct AnyFields {};

inline nanobind::class_<AnyFields> fields_of(const FieldPlace& place) {
    return nanobind::borrow<nanobind::class_<AnyFields>>(place.type);
}

// The one function that reads fields and settings of a type.
template <typename Value>
auto reader(FieldPlace place) {
    return [place](nanobind::handle self) -> const Value& { return *static_cast<const Value*>(place.in(self)); };
}

template <typename Value>
void add_field(const char* name, FieldPlace place) {
    fields_of(place).def_prop_ro(name, reader<Value>(place));
}

template <typename Value>
void add_setting(const char* name, FieldPlace place) {
    fields_of(place).def_prop_rw(name, reader<Value>(place), [place](nanobind::handle self, const Value& value) {
        *static_cast<Value*>(place.in(self)) = value;
    });
}

template <typename Values>
void add_column(const char* name, FieldPlace place) {
    fields_of(place).def_prop_ro(name, [place](nanobind::handle self) {
        const auto& values = *static_cast<const Values*>(place.in(self));
        return Column<typename Values::value_type>(values.data(), {values.size()}, self);
    });
}

template <class T, class... Bases>
class Class : public nanobind::class_<T, Bases...> {
public:
    using nanobind::class_<T, Bases...>::class_;

    // Members of T, or of a class it is made from.
    template <typename Owner, typename Value>
    Class& field(const char* name, Value Owner::* member) {
        add_field<Value>(name, place_of(member));
        return *this;
    }
    template <typename Owner, typename Value>
    Class& setting(const char* name, Value Owner::* member) {
        add_setting<Value>(name, place_of(member));
        return *this;
    }
    // A vector as a memoryview.
    template <typename Owner, typename Values>
    Class& column(const char* name, Values Owner::* member) {
        add_column<Values>(name, place_of(member));
        return *this;
    }

private:
    template <typename Owner, typename Value>
    FieldPlace place_of(Value Owner::* member) const {
        alignas(T) std::byte room[sizeof(T)];
        const auto* field = reinterpret_cast<const std::byte*>(&(reinterpret_cast<T*>(room)->*member));
        return {*this, static_cast<std::size_t>(field - room)};
    }
};

}  // namespace yantra
