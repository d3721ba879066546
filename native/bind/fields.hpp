// Class: a Python class whose fields share one accessor per field type, which saves a tenth of the
// bindings' compile time. Trade-off: fields are found by offset, so the class is checked here.
// Define fields first.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "bind/columns.hpp"

namespace yantra {

struct FieldPlace {
    nanobind::handle type;
    std::size_t offset;

    void* in(nanobind::handle object) const;
};

struct AnyFields {};

inline nanobind::class_<AnyFields> fields_of(const FieldPlace& place) {
    return nanobind::borrow<nanobind::class_<AnyFields>>(place.type);
}

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
