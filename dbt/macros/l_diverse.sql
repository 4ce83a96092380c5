{# Fails if the rows of a class have fewer than l different sensitive values. A missing
   value is a value. What is returned has sizes and no cell of the table. #}
{% test l_diverse(model, columns, sensitive, l) %}
select n, count(*) as classes
from (
    select {{ core_mondrian.core_mondrian_values(sensitive) }} as n
    from {{ model }}
    group by {{ core_mondrian.core_mondrian_columns(columns) }}
) as sizes
where n < {{ core_mondrian.core_mondrian_least("l", l) }}
group by n
{% endtest %}
